package replay

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth/internal/peer"
)

// certificate makes one that signs itself, for 127.0.0.1, and returns the paths of it and of its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o644),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o644)); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// TestAnswersOverTLS: over TLS the driver carries statements, one at a time, with the same answers as the wire; a server whose
// certificate nobody vouches for is not spoken to.
func TestAnswersOverTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a MariaDB")
	}
	dir, err := os.MkdirTemp("", "tls") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cert, key := certificate(t, dir)
	s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(dir, "m"), Pool: 32 << 20, LogSize: 16 << 20,
		Extra: []string{"--ssl-cert=" + cert, "--ssl-key=" + key, "--require-secure-transport=1"}})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	db := open(t, s, "") // by the socket
	exec(t, db, "CREATE USER warm@'127.0.0.1' IDENTIFIED BY 'secret' REQUIRE SSL", "GRANT SELECT, PROCESS, REPLICATION CLIENT ON *.* TO warm@'127.0.0.1'",
		"SET GLOBAL read_only = 1")

	known := x509.NewCertPool()
	if b, err := os.ReadFile(cert); err != nil || !known.AppendCertsFromPEM(b) {
		t.Fatal("the certificate cannot be read", err)
	}
	if err := mysql.RegisterTLSConfig("replay-test", &tls.Config{RootCAs: known, ServerName: "127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	defer mysql.DeregisterTLSConfig("replay-test")
	dsn := func(mode string) string { return fmt.Sprintf("warm:secret@tcp(127.0.0.1:%d)/?tls=%s", s.Port, mode) }
	for _, mode := range []string{"true", "false"} {
		if tg, err := openTarget(context.Background(), TargetConfig{DSN: dsn(mode)}); err == nil {
			tg.close()
			t.Errorf("tls=%s: the server was accepted", mode)
		}
	}

	cfg := config(t, s).Target
	cfg.DSN = dsn("replay-test")
	tg, err := openTarget(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.close()
	cn, err := tg.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer cn.c.Close()
	if cn.wire != nil || cn.most(16) != 1 {
		t.Fatalf("a connection with TLS has a wire, and takes %d statements at once", cn.most(16))
	}
	if got, err := cn.one(context.Background(), "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_version'"); err != nil || got[0] == "" {
		t.Fatalf("its TLS is %q, %v", got, err)
	}
	if err := cn.exec(context.Background(), "USE mysql"); err != nil { // sequences need a schema
		t.Fatal(err)
	}
	for range 3 {
		for _, w := range allAnswers() {
			if err := cn.send([]string{w.text}); err != nil {
				t.Fatal(err)
			}
			rows, bytes, err := cn.answer(cfg.Limits)
			w.check(t, rows, bytes, err)
		}
	}
}
