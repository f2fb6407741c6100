package server

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/vitess/go/mysql"
)

// authServer proves who clients are, by mysql_native_password and caching_sha2_password.
//
// The methods of GMS do not fit: unknown users are told apart from wrong passwords, caching_sha2_password fails on a unix socket
// and without TLS, and every login hashes thousands of rounds.
type authServer struct {
	server *Server
	users  *mysql_db.MySQLDb
	cache  sync.Map // authentication string of a user -> [32]byte: SHA256(SHA256(password)) of somebody who has logged in with it
	key    func() (*rsa.PrivateKey, []byte, error)
}

var _ mysql.AuthServer = (*authServer)(nil)

const (
	saltBytes       = 20
	nativeScramble  = sha1.Size
	sha2Scramble    = sha256.Size
	rsaBits         = 2048
	authMore        = mysql.AuthMoreDataPacket
	sha2FastOK      = 3
	sha2Full        = 4
	sha2AskKey      = 2
	authFailedState = "28000"
)

func newAuthServer(s *Server, users *mysql_db.MySQLDb) *authServer {
	a := &authServer{server: s, users: users}
	// The key that encrypts passwords on a connection without TLS. It is made when the first client needs one.
	var once sync.Once
	var key *rsa.PrivateKey
	var public []byte
	var err error
	a.key = func() (*rsa.PrivateKey, []byte, error) {
		once.Do(func() {
			if key, err = rsa.GenerateKey(rand.Reader, rsaBits); err != nil {
				return
			}
			var der []byte
			if der, err = x509.MarshalPKIXPublicKey(&key.PublicKey); err == nil {
				public = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
			}
		})
		return key, public, err
	}
	return a
}

// AuthMethods implements mysql.AuthServer.
func (a *authServer) AuthMethods() []mysql.AuthMethod {
	return []mysql.AuthMethod{authMethod{a, mysql.MysqlNativePassword}, authMethod{a, mysql.CachingSha2Password}}
}

// DefaultAuthMethodDescription implements mysql.AuthServer: every client knows this one, and can be asked for the other.
func (a *authServer) DefaultAuthMethodDescription() mysql.AuthMethodDescription {
	return mysql.MysqlNativePassword
}

// user that may log in from a host, nil if there is none.
func (a *authServer) user(name, host string) *mysql_db.User {
	r := a.users.Reader()
	defer r.Close()
	u := a.users.GetUser(r, name, host, false)
	if u == nil || u.IsRole {
		return nil
	}
	return u
}

// hostOf an address as grants name it.
func hostOf(addr net.Addr) string {
	if addr.Network() == "unix" {
		return "localhost"
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	return strings.TrimPrefix(host, "::ffff:")
}

func isLoopback(addr net.Addr) bool {
	if addr.Network() == "unix" {
		return true
	}
	ip := net.ParseIP(hostOf(addr))
	return ip != nil && ip.IsLoopback()
}

type authMethod struct {
	*authServer
	name mysql.AuthMethodDescription
}

func (m authMethod) Name() mysql.AuthMethodDescription { return m.name }

// HandleUser implements mysql.AuthMethod. A user that does not exist goes through the default method, and fails there like one
// with a wrong password.
func (m authMethod) HandleUser(c *mysql.Conn, name string) bool {
	u := m.user(name, hostOf(c.RemoteAddr()))
	if u == nil {
		return m.name == m.DefaultAuthMethodDescription()
	}
	return u.Plugin == string(m.name)
}

// AllowClearTextWithoutTLS implements mysql.AuthMethod: neither method sends a password in clear where it could be heard.
func (m authMethod) AllowClearTextWithoutTLS() bool { return true }

// AuthPluginData implements mysql.AuthMethod.
func (m authMethod) AuthPluginData() ([]byte, error) {
	salt, err := mysql.NewSalt()
	return append(salt, 0), err
}

// HandleAuthPluginData implements mysql.AuthMethod.
func (m authMethod) HandleAuthPluginData(c *mysql.Conn, name string, salt, answer []byte, addr net.Addr) (mysql.Getter, error) {
	cl := clientOf(c)
	u, err := m.admit(cl, name, salt, answer, addr)
	if err != nil {
		return nil, err
	}
	cl.login(u.User, u.Host)
	return gms.MysqlConnectionUser{User: u.User, Host: u.Host}, nil
}

// admit decides whether the client is the user. The error is for the client.
func (m authMethod) admit(cl *client, name string, salt, answer []byte, addr net.Addr) (*mysql_db.User, error) {
	host := hostOf(addr)
	cl.mu.Lock()
	cl.mu.user, cl.mu.host = name, host
	cl.mu.Unlock()
	if len(answer) == 1 && answer[0] == 0 {
		answer = nil // how some clients send an empty password
	}
	denied := sqlError(erAccessDenied, authFailedState, fmt.Sprintf("Access denied for user '%s'@'%s' (using password: %s)",
		name, host, map[bool]string{true: "YES", false: "NO"}[len(answer) > 0]))
	u := m.user(name, host)
	if u == nil || u.Locked || len(salt) < saltBytes {
		return nil, denied
	}
	ok, err := m.proves(cl.wire, u, salt[:saltBytes], answer)
	if err != nil {
		m.server.log.Warn("login", "user", name, "host", host, "err", err)
	}
	if !ok {
		return nil, denied
	}
	super := u.PrivilegeSet.Has(gms.PrivilegeType_Super)
	if u.AuthString == "" && super && !isLoopback(addr) {
		m.server.log.Warn("refused: an account that may do everything has no password, and so may log in from this machine only",
			"user", name, "host", host)
		return nil, denied
	}
	if cl.spare && !super {
		m.server.refusedFull.Add(1)
		return nil, errTooManyConnections
	}
	return u, nil
}

// proves: the client knows the user's password.
func (m authMethod) proves(w *wire, u *mysql_db.User, salt, answer []byte) (bool, error) {
	switch {
	case u.AuthString == "":
		return len(answer) == 0, nil
	case len(answer) == 0:
		return false, nil
	case m.name == mysql.MysqlNativePassword:
		hash, err := mysql.DecodeMysqlNativePasswordHex(u.AuthString)
		if err != nil || len(answer) != nativeScramble {
			return false, err
		}
		return mysql.VerifyHashedMysqlNativePassword(answer, salt, hash), nil
	case len(answer) != sha2Scramble:
		return false, nil
	}
	if v, ok := m.cache.Load(u.AuthString); ok {
		hash := v.([sha256.Size]byte)
		if mysql.VerifyHashedCachingSha2Password(answer, salt, hash[:]) {
			return true, w.say([]byte{authMore, sha2FastOK})
		}
	}
	password, err := m.ask(w, salt)
	if err != nil {
		return false, err
	}
	digest, rounds, stored, _, err := mysql.DeserializeCachingSha2PasswordAuthString([]byte(u.AuthString))
	if err != nil || digest != "SHA256" {
		return false, fmt.Errorf("the password of %s is stored in a way that is not known: %w", u.User, err)
	}
	again, err := mysql.SerializeCachingSha2PasswordAuthString(password, stored, rounds)
	if err != nil || subtle.ConstantTimeCompare(again, []byte(u.AuthString)) != 1 {
		return false, err
	}
	first := sha256.Sum256([]byte(password))
	m.cache.Store(u.AuthString, sha256.Sum256(first[:]))
	return true, nil
}

// ask the client for its password: in clear under TLS and on a unix socket, which nobody can hear, encrypted elsewhere.
func (m authMethod) ask(w *wire, salt []byte) (string, error) {
	if err := w.say([]byte{authMore, sha2Full}); err != nil {
		return "", err
	}
	b, err := w.hear()
	if err != nil {
		return "", err
	}
	if w.tls == nil && !w.local {
		if b, err = m.decrypt(w, b, salt); err != nil {
			return "", err
		}
	}
	if len(b) == 0 || b[len(b)-1] != 0 {
		return "", errors.New("the client sent no password")
	}
	return string(b[:len(b)-1]), nil
}

// decrypt a password that comes over a plain connection. The client asks for the key if it does not have it.
func (m authMethod) decrypt(w *wire, b, salt []byte) ([]byte, error) {
	key, public, err := m.key()
	if err != nil {
		return nil, err
	}
	if len(b) == 1 && b[0] == sha2AskKey {
		if err := w.say(append([]byte{authMore}, public...)); err != nil {
			return nil, err
		}
		if b, err = w.hear(); err != nil {
			return nil, err
		}
	}
	plain, err := rsa.DecryptOAEP(sha1.New(), nil, key, b, nil)
	if err != nil {
		return nil, err
	}
	for i := range plain {
		plain[i] ^= salt[i%len(salt)]
	}
	return plain, nil
}
