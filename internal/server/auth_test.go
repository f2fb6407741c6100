package server

import (
	"context"
	"crypto/tls"
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	vitess "github.com/dolthub/vitess/go/mysql"
	"github.com/go-sql-driver/mysql"
)

// tryLogin opens a connection and closes it.
func tryLogin(t testing.TB, c *mysql.Config) error {
	t.Helper()
	conn, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(conn)
	defer db.Close()
	return db.PingContext(context.Background())
}

func login(s *Server, user, password string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = user, password, "tcp", s.Addr().String()
	c.AllowNativePasswords = true
	return c
}

func TestLogin(t *testing.T) {
	cfg := testConfig(t)
	s := startAt(t, cfg)
	root := conn(t, open(t, s))
	exec(t, root, "CREATE USER nat@'%' IDENTIFIED WITH mysql_native_password BY 'one'")
	exec(t, root, "CREATE USER sha@'%' IDENTIFIED WITH caching_sha2_password BY 'two'")
	exec(t, root, "CREATE USER vacant@'%'")

	socket := func(user, password string) *mysql.Config {
		c := login(s, user, password)
		c.Net, c.Addr = "unix", s.cfg.Socket
		return c
	}
	secure := func(user, password string) *mysql.Config {
		c := login(s, user, password)
		c.TLS = &tls.Config{InsecureSkipVerify: true}
		return c
	}
	for name, how := range map[string]func(user, password string) *mysql.Config{
		"tcp":  func(user, password string) *mysql.Config { return login(s, user, password) },
		"unix": socket,
		"tls":  secure,
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []*mysql.Config{how("nat", "one"), how("sha", "two"), how("sha", "two"), how("vacant", ""), how("root", "")} {
				if err := tryLogin(t, c); err != nil {
					t.Errorf("%s with %q: %v", c.User, c.Passwd, err)
				}
			}
			for _, c := range []*mysql.Config{
				how("nat", "two"), how("nat", ""), how("sha", "one"), how("sha", ""), how("vacant", "x"), how("root", "x"), how("nobody", ""), how("nobody", "x"),
			} {
				e := failsWith(t, tryLogin(t, c), 1045)
				if !strings.HasPrefix(e.Message, "Access denied for user '"+c.User+"'@'") {
					t.Errorf("%s: %s", c.User, e.Message)
				}
				if yes := strings.Contains(e.Message, "(using password: YES)"); yes != (c.Passwd != "") {
					t.Errorf("%s with %q: %s", c.User, c.Passwd, e.Message)
				}
			}
		})
	}

	// A new password takes the place of the old one, also where the old one is remembered.
	exec(t, root, "ALTER USER sha@'%' IDENTIFIED WITH caching_sha2_password BY 'three'")
	failsWith(t, tryLogin(t, secure("sha", "two")), 1045)
	if err := tryLogin(t, secure("sha", "three")); err != nil {
		t.Error(err)
	}

	// Users and grants are there after a restart.
	exec(t, root, "GRANT SELECT ON test.* TO nat@'%'")
	exec(t, root, "CREATE TABLE g (id INT PRIMARY KEY)")
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = startAt(t, cfg)
	if err := tryLogin(t, login(s, "sha", "three")); err != nil {
		t.Error(err)
	}
	nat, err := openAs(t, s, "nat", "one").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer nat.Close()
	expect(t, rows(t, nat, "SELECT COUNT(*) FROM test.g"), "0")
	_, err = nat.ExecContext(t.Context(), "INSERT INTO test.g VALUES (1)")
	failsWith(t, err, 1142)
	_, err = nat.ExecContext(t.Context(), "CREATE DATABASE mine")
	if err == nil {
		t.Error("a user without the privilege made a database")
	}
}

func TestTLSRequired(t *testing.T) {
	s := start(t, func(c *Config) { c.RequireSecureTransport = true })
	failsWith(t, tryLogin(t, login(s, "root", "")), erSecureTransport)
	failsWith(t, tryLogin(t, login(s, "nobody", "")), erSecureTransport)
	c := login(s, "root", "")
	c.TLS = &tls.Config{InsecureSkipVerify: true}
	if err := tryLogin(t, c); err != nil {
		t.Error(err)
	}
	c = login(s, "root", "")
	c.Net, c.Addr = "unix", s.cfg.Socket
	if err := tryLogin(t, c); err != nil {
		t.Errorf("on the unix socket: %v", err)
	}
}

func TestOwnCertificate(t *testing.T) {
	cfg := testConfig(t)
	s := startAt(t, cfg)
	first, err := os.ReadFile(filepath.Join(s.cfg.Data, ownCertFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = startAt(t, cfg)
	again, err := os.ReadFile(filepath.Join(s.cfg.Data, ownCertFile))
	if err != nil || string(again) != string(first) {
		t.Errorf("the certificate is another after a restart (%v)", err)
	}
	if info, err := os.Stat(filepath.Join(s.cfg.Data, ownKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", info.Mode(), err)
	}
	s.Close(t.Context())
	cfg.NoTLS = true
	s = startAt(t, cfg)
	c := login(s, "root", "")
	c.TLS = &tls.Config{InsecureSkipVerify: true}
	if err := tryLogin(t, c); err == nil {
		t.Error("TLS is offered where it is switched off")
	}
}

// An account that may do everything and has no password does not let in strangers.
func TestOpenRoot(t *testing.T) {
	address := ""
	if list, err := net.InterfaceAddrs(); err == nil {
		for _, a := range list {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				address = n.IP.String()
			}
		}
	}
	if address == "" {
		t.Skip("this machine has no address but its own")
	}
	s := start(t, func(c *Config) { c.Listen = address + ":0" })
	c := login(s, "root", "")
	c.Net, c.Addr = "unix", s.cfg.Socket
	conn, _ := mysql.NewConnector(c)
	root := sql.OpenDB(conn)
	defer root.Close()
	if !s.RootIsOpen() {
		t.Error("root has no password, and nobody says so")
	}
	exec(t, root, "CREATE USER boss@'%'")
	exec(t, root, "GRANT ALL ON *.* TO boss@'%'")
	failsWith(t, tryLogin(t, login(s, "boss", "")), 1045)
	exec(t, root, "ALTER USER boss@'%' IDENTIFIED BY 'secret'")
	if err := tryLogin(t, login(s, "boss", "secret")); err != nil {
		t.Error(err)
	}
	exec(t, root, "ALTER USER root@localhost IDENTIFIED BY 'secret'")
	if s.RootIsOpen() {
		t.Error("root has a password now, and is called open")
	}
}

func TestChangeUser(t *testing.T) {
	s := start(t)
	root := conn(t, open(t, s))
	exec(t, root, "CREATE USER other@localhost IDENTIFIED WITH mysql_native_password BY 'secret'")
	exec(t, root, "GRANT SELECT ON test.* TO other@localhost")
	change := func(c *rawClient, user, password, db string) []byte {
		t.Helper()
		c.command(comChangeUser, user+"\x00\x00"+db+"\x00\x21\x00mysql_native_password\x00")
		b := c.must(c.read())
		if b[0] != 0xfe {
			t.Fatalf("change to %s: %q", user, b)
		}
		_, salt, _ := strings.Cut(string(b[1:]), "\x00")
		c.write(vitess.ScrambleMysqlNativePassword([]byte(salt[:saltBytes]), []byte(password)))
		return c.must(c.read())
	}
	c := rawLogin(t, s, 0)
	c.query("SET @x = 1")
	c.query("BEGIN")
	c.prepare("SELECT 1")
	if b := change(c, "other", "secret", "test"); b[0] != 0 {
		t.Fatalf("change: %q", b)
	}
	got, err := c.query("SELECT CURRENT_USER(), DATABASE(), @x")
	if err != nil || len(got) != 1 || strings.Join(got[0], " ") != "other@localhost test " {
		t.Errorf("after a change: %q, %v", got, err)
	}
	if _, err := c.query("CREATE TABLE mine (a INT)"); err == nil {
		t.Error("the new user has the rights of the old one")
	}
	if b := change(c, "root", "", ""); b[0] != 0 {
		t.Fatalf("change back: %q", b)
	}
	if b := change(c, "other", "wrong", ""); b[0] != 0xff || rawError(b).number() != erAccessDenied {
		t.Errorf("a wrong password: %q", b)
	}
	if _, err := c.query("SELECT 1"); err == nil {
		t.Error("the connection goes on after a failed change")
	}
	if n := s.preparedCount.Load(); n != 0 {
		t.Errorf("%d prepared statements are left", n)
	}
}
