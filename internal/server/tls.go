package server

import (
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
	"time"
)

// Files of the certificate that a server makes for itself, in the directory of the database. Names as in MySQL.
const (
	ownCertFile = "server-cert.pem"
	ownKeyFile  = "server-key.pem"
	ownCertLife = 10 * 365 * 24 * time.Hour
)

// serverTLS is the configuration for clients that ask for TLS, nil if it is switched off.
func serverTLS(c *Config) (*tls.Config, error) {
	if c.NoTLS {
		return nil, nil
	}
	cert, key := c.TLSCert, c.TLSKey
	if cert == "" {
		cert, key = filepath.Join(c.Data, ownCertFile), filepath.Join(c.Data, ownKeyFile)
		if err := makeOwnCert(cert, key); err != nil {
			return nil, fmt.Errorf("make a certificate (or switch TLS off with --no-tls): %w", err)
		}
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s with key %s: %w", cert, key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// makeOwnCert makes a self-signed certificate, unless there is one.
func makeOwnCert(certFile, keyFile string) error {
	if _, err := os.Stat(certFile); err == nil {
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := time.Now()
	host, _ := os.Hostname()
	cert := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "hearth server, certificate made by itself"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(ownCertLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if host != "" {
		cert.DNSNames = append(cert.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// The key first: a certificate that is there has its key.
	if err := writePEM(keyFile, "PRIVATE KEY", keyDER, 0o600); err != nil {
		return err
	}
	return writePEM(certFile, "CERTIFICATE", der, 0o644)
}

// writePEM writes the file whole or not at all.
func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
