package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
)

// changeUser answers COM_CHANGE_USER: the connection becomes one of another user, with a session of its own. Its body: user and a
// zero byte, the answer of an authentication method with its length (1), database and a zero byte, character set (2), and more that
// does not matter, since the client is always asked again, with the method of that user. An error ends the connection.
func (cl *client) changeUser(body []byte) error {
	name, rest, ok := bytes.Cut(body, []byte{0})
	if !ok || len(rest) == 0 || len(rest) < 1+int(rest[0]) {
		return fmt.Errorf("COM_CHANGE_USER of %d bytes", len(body))
	}
	db, rest, _ := bytes.Cut(rest[1+int(rest[0]):], []byte{0})
	if len(rest) >= 2 {
		cl.conn.CharacterSet = uint8(binary.LittleEndian.Uint16(rest))
	}
	cl.leave()
	u, err := cl.askAgain(string(name))
	if err != nil {
		cl.server.abortedConnects.Add(1)
		cl.wire.tell(err)
		return err
	}
	cl.conn.User = u.User
	cl.login(u.User, u.Host)
	if len(db) > 0 {
		use := command{text: useText(string(db)), admin: "Init DB", send: func(*sqltypes.Result, bool) error { return nil }}
		if _, err := cl.run(context.Background(), use); err != nil {
			cl.wire.tell(err.(*mysql.SQLError))
			return err
		}
	}
	cl.setStatusFlags()
	return cl.wire.say([]byte{mysql.OKPacket, 0, 0, byte(cl.conn.StatusFlags), byte(cl.conn.StatusFlags >> 8), 0, 0})
}

// askAgain asks the client to prove that it is the user.
func (cl *client) askAgain(name string) (*mysql_db.User, *mysql.SQLError) {
	a := cl.server.auth
	m := authMethod{a, a.DefaultAuthMethodDescription()}
	if u := a.user(name, hostOf(cl.wire.RemoteAddr())); u != nil {
		m.name = mysql.AuthMethodDescription(u.Plugin)
	}
	denied := sqlError(erAccessDenied, authFailedState, fmt.Sprintf("Access denied for user '%s'", name))
	salt, err := mysql.NewSalt()
	if err != nil {
		return nil, denied
	}
	ask := append([]byte{mysql.AuthSwitchRequestPacket}, m.name...)
	ask = append(append(append(ask, 0), salt...), 0)
	if cl.wire.say(ask) != nil {
		return nil, denied
	}
	cl.wire.raw.SetReadDeadline(time.Now().Add(cl.wire.rules.connect))
	cl.wire.readBy = time.Time{}
	answer, err := cl.wire.hear()
	if err != nil {
		return nil, denied
	}
	u, err := m.admit(cl, name, salt, answer, cl.wire.RemoteAddr())
	if err != nil {
		return nil, err.(*mysql.SQLError)
	}
	return u, nil
}
