package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/go-mysql-server/sql/rowexec"
	"github.com/dolthub/vitess/go/mysql"
	vtlog "github.com/dolthub/vitess/go/vt/log"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

// Server is a database that answers clients.
type Server struct {
	cfg        Config
	log        *slog.Logger
	serverName string

	phase     atomic.Pointer[phase] // what the server does before and after it serves; nil: it serves
	door      *door
	listener  *mysql.Listener
	library   sync.WaitGroup // the accepting goroutine of listener
	tls       *tls.Config
	db        *hearth.DB
	backend   *sql.Backend
	engine    *sqle.Engine
	users     *mysql_db.MySQLDb
	auth      *authServer
	memory    *memoryGuard
	clients   *clients
	processes processList
	began     time.Time

	events         *events
	orders         warmthOrders
	slow           *slowLog      // the slow query log; nil before it is set up
	flush          atomic.Bool   // write every page when the server stops
	askedToStop    chan struct{} // closed by SHUTDOWN
	askToStop      func()
	ctx            context.Context // ends when the background is to
	background     sync.WaitGroup
	stopBackground context.CancelFunc
	closing        sync.Once
	closeErr       error

	open            atomic.Int64 // connections that were let in
	running         atomic.Int64 // statements
	lastStatement   atomic.Uint64
	preparedCount   atomic.Int64
	connections     atomic.Uint64
	abortedConnects atomic.Uint64
	refusedFull     atomic.Uint64
	panics          atomic.Uint64
	bulkInserts     atomic.Uint64 // statements that were done without GMS
	plainStatements atomic.Uint64 // the same, of those that find rows by literals
}

// phase is what a client is told that cannot be served yet, or any more.
type phase struct {
	text     string
	stopping bool
}

// watchInterval is how often running statements are looked at for clients that have gone.
const watchInterval = time.Second

// Start opens the database, or makes it, and serves. The address answers from the first moment on: until the server is ready,
// each client is told what it is doing. The caller ends it with Close.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Data, 0o750); err != nil {
		return nil, openError(&c, err)
	}
	socketLater := socketWaits(&c)
	listeners, err := openListeners(&c)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: c, log: c.Log, began: time.Now(), clients: &clients{byID: map[uint32]*client{}}}
	s.flush.Store(c.Flush)
	s.askedToStop = make(chan struct{})
	s.askToStop = sync.OnceFunc(func() { close(s.askedToStop) })
	s.processes = processList{clients: s.clients}
	quietLibraries()
	installGrowing()
	s.enter("making ready", false)
	s.door = openDoor(listeners, s.admit)
	if err := s.start(ctx, socketLater); err != nil {
		s.door.Close()
		s.stopEngine(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// start brings up what is behind the door, and opens it.
func (s *Server) start(ctx context.Context, socketLater bool) (err error) {
	c := &s.cfg
	options, told := c.Engine, c.Engine.OnPhase
	options.OnPhase = func(name string, percent int) {
		s.enter(phaseText(name, percent), false)
		if told != nil {
			told(name, percent)
		}
	}
	if s.db, err = hearth.Open(ctx, c.Data, &options); err != nil {
		return openError(c, err)
	}
	if socketLater {
		l, err := listenUnix(c.Socket)
		if err != nil {
			return err
		}
		s.door.add(l)
	}
	s.enter("reading the data dictionary", false)
	if s.backend, err = sql.Open(ctx, s.db, sql.Options{Parser: boundedParser{sqlparse.New()}}); err != nil {
		return err
	}
	if s.tls, err = serverTLS(c); err != nil {
		return err
	}
	s.memory = newMemoryGuard(c.MemoryLimit, c.MaxResultMemory)
	s.engine = s.backend.Engine()
	s.engine.ProcessList = s.processes
	s.engine.MemoryManager = s.memory.manager
	s.memory.builder = rowexec.NewOverrideBuilder(firstOf{shows{s}, s.memory})
	s.engine.Analyzer.ExecBuilder = s.memory.builder
	s.engine.Analyzer.Runner = nestedRunner{s.engine.Analyzer.Runner}
	if s.users, err = openUsers(s.backend); err != nil {
		return err
	}
	s.ctx, s.stopBackground = context.WithCancel(context.WithoutCancel(ctx))
	s.events = s.newEvents()
	s.events.set(c.EventScheduler == schedulerOn)
	s.slow = &slowLog{file: newSlowFile(s.log)}
	if err := s.install(); err != nil {
		return err
	}
	if err := s.slow.begin(); err != nil {
		s.log.Error("no slow query log", "err", err)
	}
	s.auth = newAuthServer(s, s.users)
	s.serverName, _ = os.Hostname()

	s.listener, err = mysql.NewListenerWithConfig(mysql.ListenerConfig{Listener: s.door, AuthServer: s.auth, Handler: handler{s}})
	if err != nil {
		return err
	}
	s.listener.ServerVersion = Version()
	s.background.Go(func() { s.memory.watch(s.ctx, s.statements) })
	s.background.Go(func() { s.watch(s.ctx) })
	s.events.begin(s.ctx)
	s.background.Go(func() {
		if err := s.db.ServeAdmin(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("no admin socket: hearth warm does not reach this server", "err", err)
		}
	})
	s.library.Go(s.listener.Accept)
	s.phase.Store(nil)
	return nil
}

// Version is what clients are told that they talk to.
func Version() string {
	_, v, _ := gms.SystemVariables.GetGlobal("version")
	if text, ok := v.(string); ok && text != "" {
		return text
	}
	return mysql.DefaultServerVersion
}

// phaseText says what the engine does: a phase of its start, and how far that is if it is known.
func phaseText(name string, percent int) string {
	if percent < 0 {
		return "opening the database, " + name
	}
	return fmt.Sprintf("%s %d %%", name, percent)
}

// enter a phase in which clients are not served.
func (s *Server) enter(text string, stopping bool) {
	s.phase.Store(&phase{text, stopping})
	if !stopping {
		notify("STATUS=starting: " + text)
	}
}

// admit decides about a new connection before a byte of it was read. Nil: it was refused.
func (s *Server) admit(raw net.Conn) *wire {
	s.connections.Add(1)
	if p := s.phase.Load(); p != nil {
		if p.stopping {
			refuse(raw, errPacket(errShutdown))
		} else {
			refuse(raw, errPacket(sqlError(erNotAvailable, stateUnknown, "hearth is starting: "+p.text)))
		}
		return nil
	}
	if s.open.Add(1) > globalInt("max_connections")+1 {
		s.open.Add(-1)
		s.refusedFull.Add(1)
		refuse(raw, errPacket(errTooManyConnections))
		return nil
	}
	if t, ok := raw.(*net.TCPConn); ok {
		t.SetNoDelay(true)
		t.SetKeepAlive(true)
	}
	return newWire(raw, wireRules{
		tls:         s.tls,
		tlsRequired: globalInt("require_secure_transport") != 0,
		connect:     time.Duration(globalInt("connect_timeout")) * time.Second,
		idle:        s.cfg.WaitTimeout,
		read:        s.cfg.NetReadTimeout,
		write:       s.cfg.NetWriteTimeout,
		maxPacket:   s.cfg.MaxPacket,
	})
}

// Addr is the TCP address the server listens on, or that of its unix socket if there is no other.
func (s *Server) Addr() net.Addr { return s.door.Addr() }

// Addrs are all addresses.
func (s *Server) Addrs() []net.Addr {
	var list []net.Addr
	for _, l := range s.door.listeners {
		list = append(list, l.Addr())
	}
	return list
}

// DB is the database that is served.
func (s *Server) DB() *hearth.DB { return s.db }

// Backend is the SQL side of it.
func (s *Server) Backend() *sql.Backend { return s.backend }

// Config of the server, with nothing left open.
func (s *Server) Config() Config { return s.cfg }

// Uptime since Start.
func (s *Server) Uptime() time.Duration { return time.Since(s.began) }

// RootIsOpen: an account that may do everything has no password.
func (s *Server) RootIsOpen() bool { return rootIsOpen(s.users) }

// oneLine is the answer to COM_STATISTICS.
func (s *Server) oneLine() string {
	c := s.Counters()
	up := s.Uptime().Seconds()
	return fmt.Sprintf("Uptime: %.0f  Threads: %d  Questions: %d  Slow queries: %d  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: %.3f",
		up, c.ThreadsConnected, c.Questions, c.SlowQueries, float64(c.Questions)/max(1, up))
}

// statements that run.
func (s *Server) statements() (list []*statement) {
	for _, cl := range s.clients.all() {
		cl.mu.Lock()
		if cl.mu.running != nil {
			list = append(list, cl.mu.running)
		}
		cl.mu.Unlock()
	}
	return list
}

// watch ends statements whose clients have gone: one that waits for a lock would not notice.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, cl := range s.clients.all() {
			cl.mu.Lock()
			st := cl.mu.running
			cl.mu.Unlock()
			if st != nil && time.Since(st.began) >= watchInterval && cl.wire.hungUp() {
				cl.disconnect(errClientGone)
			}
		}
	}
}

// hungUp asks the kernel whether the other side has closed the connection; what it sent before may still be unread.
func (w *wire) hungUp() bool {
	sc, ok := w.raw.(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = rc.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}

// Close stops the server: nobody comes in any more, idle clients are disconnected, running statements may go on until ctx ends,
// and are stopped then; open transactions are rolled back. Then the database is closed.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

// lastWait is how long stopped statements get to end before the database is closed under them.
const lastWait = 30 * time.Second

func (s *Server) close(ctx context.Context) error {
	s.enter("", true)
	s.listener.Close() // with the door
	s.library.Wait()
	s.events.end()
	gone := s.clients.gone()
	s.endClients(ctx, gone)
	var errs []error
	select {
	case <-gone:
	case <-time.After(lastWait):
		errs = append(errs, fmt.Errorf("%d statements did not end within %v of being stopped", s.running.Load(), lastWait))
	}
	return errors.Join(append(errs, s.stopEngine(context.WithoutCancel(ctx)))...)
}

// endClients disconnects clients when they are idle, and when ctx ends, all.
func (s *Server) endClients(ctx context.Context, gone <-chan struct{}) {
	const look = 10 * time.Millisecond
	for {
		select {
		case <-gone:
			return
		case <-ctx.Done():
			for _, cl := range s.clients.all() {
				cl.disconnect(errShutdown)
			}
			return
		case <-time.After(look):
		}
		for _, cl := range s.clients.all() {
			cl.mu.Lock()
			idle := cl.mu.running == nil
			cl.mu.Unlock()
			if idle {
				cl.wire.kill()
			}
		}
	}
}

// stopEngine closes what start opened.
func (s *Server) stopEngine(ctx context.Context) error {
	if s.stopBackground != nil {
		s.events.end()
		s.stopBackground()
		s.background.Wait()
	}
	if s.slow != nil {
		s.slow.file.close()
	}
	var errs []error
	if s.backend != nil {
		errs = append(errs, s.backend.Close(ctx))
	}
	if s.db != nil {
		if s.flush.Load() {
			errs = append(errs, s.db.CloseFlush(ctx))
		} else {
			errs = append(errs, s.db.Close())
		}
	}
	return errors.Join(errs...)
}

// quietLibraries sends what the libraries log to our log, below what is shown by default: they log lines for each connection
// and for each failure of a client. Their logs belong to the process.
var quietLibraries = sync.OnceFunc(func() {
	vtlog.Info, vtlog.Warning, vtlog.Error = libraryLog, libraryLog, libraryLog
	vtlog.Infof, vtlog.Warningf, vtlog.Errorf = libraryLogf, libraryLogf, libraryLogf
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.ErrorLevel)
})

func libraryLog(args ...any) { slog.Debug(fmt.Sprint(args...)) }

func libraryLogf(format string, args ...any) {
	if strings.Contains(format, "panic") {
		slog.Error(fmt.Sprintf(format, args...)) // a connection was lost to a bug
		return
	}
	if slog.Default().Enabled(context.Background(), slog.LevelDebug) {
		slog.Debug(fmt.Sprintf(format, args...))
	}
}
