package server

import (
	"context"
	"net"
	"time"

	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"

	"github.com/hearthdb/hearth/internal/dict"
)

// execute runs an event's body as its definer. It is a client of whom nobody hears: what it selects is thrown away.
func (s *Server) execute(ctx context.Context, database string, e *dict.Event, id uint32) (err error) {
	user, host, err := accountOf(e.Definer)
	if err != nil {
		return err
	}
	if s.auth.user(user, host) == nil {
		return errNoDefiner
	}
	nobody, other := net.Pipe()
	other.Close()
	w := newWire(nobody, wireRules{})
	w.local = true
	cl := &client{
		server: s, wire: w, id: id, opened: time.Now(), prepared: map[uint32]*prepared{},
		conn: &mysql.Conn{Conn: w, ConnectionID: id, User: user, CharacterSet: mysql.CharacterSetUtf8},
	}
	cl.mu.since = cl.opened
	cl.processes = processList{s.clients, cl}
	cl.conn.ClientData = cl
	defer func() {
		if p := recover(); p != nil {
			err = cl.panicked(p, e.EventBody)
		}
	}()
	s.clients.add(cl)
	defer s.clients.remove(cl)
	cl.login(user, host)
	defer cl.endSession()
	call, err := cl.session.RunAsEvent(cl.context(ctx, ""), database, e)
	if err != nil {
		return err
	}
	cl.readVars() // the event has an SQL mode of its own
	// The CALL goes the way of a prepared statement: there is no text of it. What is seen of it is the event's.
	_, err = cl.run(ctx, command{
		text:     e.EventBody,
		prepared: &prepared{text: e.EventBody, stmt: call},
		send:     func(*sqltypes.Result, bool) error { return nil },
	})
	return err
}
