package bench

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
)

// server is a process that answers the MySQL protocol and can be ended.
type server interface {
	Open(database string) (*sql.DB, error) // "" opens none
	// Start waits until it answers.
	Start(ctx context.Context) error
	// Launch does not. enter, when given, is told the process before it has opened much.
	Launch(ctx context.Context, enter func(pid int) error) error
	Stop() error
	Kill() error
	Exited() error // nil while it runs, as far as that is known
	// Processes that run now, as far as that is known.
	Processes() ([]int, error)
}

// subject is a server and its database: what is restarted.
type subject struct {
	server
	name   string               // of the system
	schema string               // where its tables are
	data   string               // folder of its files; "": not known
	flags  func(flags []string) // of the next process
	cold   func() error         // does what a reboot would, between stop and start, besides loseMemory
	wait   time.Duration        // for the first answer after a restart
}

// stage makes the database of a subject, and gives it to each restart.
type stage interface {
	prepare(ctx context.Context) error // fills it, unless it was filled before
	before() error                     // each restart
	after() error
	end() error // nothing stays behind that was not asked for
}

// peerSubject is a server that this program makes, in a folder of its own.
func peerSubject(s *peer.Server) subject {
	return subject{
		server: s, name: s.Name, schema: serverDatabase, data: s.Data(),
		flags: func(flags []string) { s.Config.Extra = flags }, cold: func() error { return nil }, wait: answerPatience,
	}
}

// copies is the stage of such a server: each restart begins with a copy of what was loaded.
type copies struct {
	store  store
	cfg    ServerRestartConfig
	p      ServerProfile // one of those that share the server
	server *peer.Server
	out    Output
}

func (c copies) prepare(ctx context.Context) error {
	return errors.Join(c.store.load(ctx, c.cfg, c.p, c.server, c.out), removeRegions(c.p.Memory))
}

func (c copies) before() error {
	return errors.Join(removeRegions(c.p.Memory), c.store.fetch(c.cfg, c.server, c.out))
}

func (c copies) after() error {
	return errors.Join(c.server.Kill(), c.store.release(c.cfg, c.server), removeRegions(c.p.Memory))
}

func (c copies) end() error { return c.server.Kill() }
