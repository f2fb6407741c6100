package server

import (
	"fmt"
	"strconv"

	gms "github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// kill ends another connection, or the statement that runs in it. One's own may be killed by everybody.
func (cl *client) kill(sc *gms.Context, k *ast.Kill) error {
	id, err := connectionID(k.ConnID)
	if err != nil {
		return err
	}
	target := cl.server.clients.get(id)
	if target == nil {
		return sqlError(erUnknownThread, stateUnknown, fmt.Sprintf("Unknown thread id: %d", id))
	}
	if target.name() != cl.name() && !cl.administers(sc) {
		return sqlError(erKillDenied, stateUnknown, fmt.Sprintf("You are not owner of thread %d", id))
	}
	switch {
	case k.Connection && target == cl:
		target.wire.kill()
		return errInterrupted
	case k.Connection:
		target.disconnect(errInterrupted)
	case target == cl:
		return errInterrupted
	default:
		target.interrupt(errInterrupted)
	}
	return nil
}

func connectionID(e ast.Expr) (uint32, error) {
	if v, ok := e.(*ast.SQLVal); ok && v.Type == ast.IntVal {
		if n, err := strconv.ParseUint(string(v.Val), 10, 32); err == nil {
			return uint32(n), nil
		}
	}
	return 0, sqlError(erUnknownThread, stateUnknown, "Unknown thread id: "+ast.String(e))
}

// name of the user that the client logged in as.
func (cl *client) name() string {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.mu.user
}

// administers: the client's user may do what concerns others.
func (cl *client) administers(sc *gms.Context) bool {
	users := cl.server.users
	return users.UserHasPrivileges(sc, gms.NewPrivilegedOperation(gms.PrivilegeCheckSubject{}, gms.PrivilegeType_Super)) ||
		users.UserHasPrivileges(sc, gms.NewDynamicPrivilegedOperation("connection_admin"))
}

// killFromGMS implements the service of GMS's KILL, for those in procedures.
func (s *Server) killFromGMS(id uint32) error {
	cl := s.clients.get(id)
	if cl == nil {
		return sqlError(erUnknownThread, stateUnknown, fmt.Sprintf("Unknown thread id: %d", id))
	}
	cl.disconnect(errInterrupted)
	return nil
}
