package server

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
)

// client is one connection: its session, its prepared statements, and what others may know about it.
type client struct {
	server *Server
	conn   *mysql.Conn
	wire   *wire
	id     uint32
	opened time.Time
	spare  bool // one more than max_connections: only for those who administer

	session  *sql.Session // nil until the client is known
	vars     sessionVars
	prepared map[uint32]*prepared
	lost     bool // the connection did not end with a goodbye of the client
	warned   int  // warnings of the statement before the one that runs: @@warning_count

	counters  counters
	slow      *slowScratch // nil before the first entry of the log
	processes gms.ProcessList

	mu struct {
		sync.Mutex
		user, host, db string
		since          time.Time  // when it began what it does now
		running        *statement // nil: it waits for the client
		known          bool       // it is logged in
	}
}

// sessionVars are variables of the session that the server itself looks at, with their types. They are read again after
// statements that can change them.
type sessionVars struct {
	idle         time.Duration // wait_timeout, for interactive clients what interactive_timeout was at their begin
	read, write  time.Duration
	maxPacket    int64
	maxExecution time.Duration // max_execution_time, 0: none
	parser       ast.ParserOptions
	autocommit   bool
	plain        bool // plain statements may go past GMS
	slow         slowVars
}

// clientOf a connection.
func clientOf(c *mysql.Conn) *client { return c.ClientData.(*client) }

// login gives the client a session. It is called when the client has proved who it is.
func (cl *client) login(user, host string) {
	cl.mu.Lock()
	cl.mu.user, cl.mu.host, cl.mu.known = user, host, true
	cl.mu.since = time.Now()
	cl.mu.Unlock()
	cl.newSession()
	if cl.wire.interactive {
		ctx := cl.context(context.Background(), "")
		if v, err := cl.session.GetSessionVariable(ctx, "interactive_timeout"); err == nil {
			cl.session.SetSessionVariable(ctx, "wait_timeout", v)
		}
		cl.readVars()
	}
	cl.wire.trusted = true
}

// newSession begins a session with the variables' global values.
func (cl *client) newSession() {
	base := gms.NewBaseSessionWithClientServer(cl.server.serverName, gms.Client{
		User: cl.mu.user, Address: cl.mu.host, Capabilities: cl.conn.Capabilities,
	}, cl.id)
	cl.session = cl.server.backend.NewSession(base)
	if cs := gms.CollationID(cl.conn.CharacterSet); cs.CharacterSet() == gms.CharacterSet_utf8mb4 {
		// The server's default collation of the character set, unless the client asks for another.
		cl.session.SetSessionVariable(cl.context(context.Background(), ""), "collation_connection", cs.Name())
	}
	cl.readVars()
}

// readVars reads sessionVars again.
func (cl *client) readVars() {
	ctx := cl.context(context.Background(), "")
	seconds := func(name string) time.Duration {
		return time.Duration(max(1, sessionInt(ctx, name))) * time.Second
	}
	cl.vars = sessionVars{
		idle:         seconds("wait_timeout"),
		read:         seconds("net_read_timeout"),
		write:        seconds("net_write_timeout"),
		maxPacket:    max(1024, sessionInt(ctx, "max_allowed_packet")),
		maxExecution: time.Duration(max(0, sessionInt(ctx, "max_execution_time"))) * time.Millisecond,
		parser:       gms.LoadSqlMode(ctx).ParserOptions(),
		autocommit:   sessionInt(ctx, gms.AutoCommitSessionVar) != 0,
	}
	cl.vars.plain = cl.readsPlainly(ctx)
	cl.vars.slow = cl.slowVars(ctx)
	cl.wire.limits(cl.vars.idle, cl.vars.read, cl.vars.write, cl.vars.maxPacket)
}

// context for one statement of the client.
func (cl *client) context(ctx context.Context, text string) *gms.Context {
	s := cl.server
	return gms.NewContext(ctx,
		gms.WithSession(cl.session),
		gms.WithPid(s.lastStatement.Add(1)),
		gms.WithQuery(text),
		gms.WithMemoryManager(s.memory.manager),
		gms.WithProcessList(cl.processes),
		gms.WithServices(gms.Services{KillConnection: s.killFromGMS, LoadInfile: cl.loadInfile}),
	)
}

// loadInfile asks the client for a file: LOAD DATA LOCAL.
func (cl *client) loadInfile(name string) (io.ReadCloser, error) {
	cl.wire.file = true
	r, err := cl.conn.LoadInfile(name)
	if err != nil {
		return nil, err
	}
	return file{r, cl.wire}, nil
}

// file is what the client sends for LOAD DATA LOCAL. Its packets are not commands.
type file struct {
	io.ReadCloser
	wire *wire
}

func (f file) Close() error {
	defer func() { f.wire.file = false }()
	return f.ReadCloser.Close()
}

// begin a statement. Its end must be finish.
func (cl *client) begin(ctx context.Context, text string) *statement {
	st := &statement{text: text, said: text, began: time.Now()}
	st.Context, st.stop = context.WithCancelCause(hearth.Counting(ctx, &st.spent))
	cl.mu.Lock()
	cl.mu.running, cl.mu.since = st, st.began
	cl.mu.Unlock()
	cl.server.running.Add(1)
	if cl.wire.killed.Load() {
		st.end(errInterrupted)
	}
	return st
}

func (cl *client) finish(st *statement) {
	if st.ended {
		return
	}
	st.ended = true
	cl.mu.Lock()
	cl.mu.running, cl.mu.since = nil, time.Now()
	cl.mu.db = cl.session.GetCurrentDatabase()
	cl.mu.Unlock()
	cl.server.running.Add(-1)
	st.stop(nil)
}

// interrupt stops the statement that runs, if one does.
func (cl *client) interrupt(why error) (ran bool) {
	cl.mu.Lock()
	st := cl.mu.running
	cl.mu.Unlock()
	if st != nil {
		st.end(why)
	}
	return st != nil
}

// disconnect ends the connection, with what runs in it.
func (cl *client) disconnect(why error) {
	cl.wire.kill()
	cl.interrupt(why)
}

// process is the client as SHOW PROCESSLIST shows it.
func (cl *client) process() gms.Process {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	p := gms.Process{
		Connection: cl.id,
		Host:       cl.peer(),
		Database:   cl.mu.db,
		User:       cl.mu.user,
		Command:    gms.ProcessCommandSleep,
		StartedAt:  cl.mu.since,
	}
	switch st := cl.mu.running; {
	case !cl.mu.known:
		p.Command, p.User, p.StartedAt = gms.ProcessCommandConnect, "unauthenticated user", cl.opened
	case st != nil:
		p.Command, p.Query, p.StartedAt = gms.ProcessCommandQuery, st.text, st.began
	}
	return p
}

// peer is where the client comes from, as MySQL writes it: "localhost" over a unix socket, address and port else.
func (cl *client) peer() string {
	if cl.wire.local {
		return "localhost"
	}
	return strings.TrimPrefix(cl.wire.RemoteAddr().String(), "::ffff:")
}

// sessionInt is a variable of the session as a number; booleans are 0 and 1.
func sessionInt(ctx *gms.Context, name string) int64 {
	v, err := ctx.GetSessionVariable(ctx, name)
	if err != nil {
		return 0
	}
	return toInt(v)
}

// globalInt is a global variable as a number.
func globalInt(name string) int64 {
	_, v, ok := gms.SystemVariables.GetGlobal(name)
	if !ok {
		return 0
	}
	return toInt(v)
}

func toInt(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case uint64:
		return int64(min(n, 1<<63-1))
	case int8:
		return int64(n)
	case int:
		return int64(n)
	case bool:
		if n {
			return 1
		}
	case float64:
		return int64(n)
	}
	return 0
}

// clients are all connections of a server.
type clients struct {
	mu    sync.Mutex
	byID  map[uint32]*client
	ended counters // of those that are gone
	empty chan struct{}
	last  atomic.Int64 // the most at a time
}

func (cs *clients) add(cl *client) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.byID[cl.id] = cl
	cs.last.Store(max(cs.last.Load(), int64(len(cs.byID))))
}

func (cs *clients) remove(cl *client) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.byID[cl.id] != cl {
		return
	}
	delete(cs.byID, cl.id)
	cs.ended.fold(&cl.counters)
	cs.ended.received.Add(cl.wire.received.Load())
	cs.ended.sent.Add(cl.wire.sent.Load())
	if len(cs.byID) == 0 && cs.empty != nil {
		close(cs.empty)
		cs.empty = nil
	}
}

func (cs *clients) get(id uint32) *client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.byID[id]
}

func (cs *clients) all() []*client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := make([]*client, 0, len(cs.byID))
	for _, cl := range cs.byID {
		list = append(list, cl)
	}
	return list
}

// gone is closed when no client is left. Nobody may connect meanwhile.
func (cs *clients) gone() <-chan struct{} {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	done := make(chan struct{})
	if len(cs.byID) == 0 {
		close(done)
	} else {
		cs.empty = done
	}
	return done
}
