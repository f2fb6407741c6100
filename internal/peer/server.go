package peer

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// quiet drops what the driver logs about lost connections: servers are killed here on purpose, and errors are returned.
type quiet struct{}

func (quiet) Print(...any) {}

// open makes the driver's handle for a data source name.
func open(dsn string) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Logger = quiet{}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// Config is what all servers are given alike.
type Config struct {
	Dir     string // the server's folder, made when it is not there
	Pool    int64  // bytes of the buffer pool
	LogSize int64  // bytes of redo log
	Durable bool   // a commit is on the disk when it is acknowledged; else within a second
	Extra   []string
	Log     string // file that the process writes its standard error to, emptied at each start; empty: its end is kept in memory
}

// Server is one database server and its folder.
type Server struct {
	Name   string
	Config Config
	Port   int
	Socket string // path of its unix socket

	command func(ctx context.Context, s *Server) (*exec.Cmd, error)
	create  func(ctx context.Context, s *Server) error

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	stderr tail
}

// ErrMissing: the server's program is not installed.
var ErrMissing = errors.New("not installed")

// newServer picks a place to listen.
func newServer(name string, c Config) (*Server, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return &Server{Name: name, Config: c, Port: l.Addr().(*net.TCPAddr).Port, Socket: filepath.Join(c.Dir, name+".sock")}, nil
}

// Launch starts the process and does not wait until it answers. enter, when given, is called with the process id as soon as
// there is one, before the server has opened much.
func (s *Server) Launch(ctx context.Context, enter func(pid int) error) error {
	if s.create != nil {
		if err := s.create(ctx, s); err != nil {
			return err
		}
	}
	cmd, err := s.command(ctx, s)
	if err != nil {
		return err
	}
	s.stderr = tail{}
	cmd.Stderr = &s.stderr
	if s.Config.Log != "" {
		log, err := os.Create(s.Config.Log)
		if err != nil {
			return fmt.Errorf("start %s: %w", s.Name, err)
		}
		defer log.Close() // the process has its own
		cmd.Stderr = log
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	if enter != nil {
		if err := enter(cmd.Process.Pid); err != nil {
			cmd.Process.Kill()
			cmd.Wait()
			return err
		}
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	go func() {
		cmd.Wait()
		close(ended)
	}()
	return nil
}

// startPatience is how long a server may take to answer: InnoDB's recovery is measured in minutes.
const startPatience = 10 * time.Minute

// Start launches the server and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	if err := s.Launch(ctx, nil); err != nil {
		return err
	}
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("%s ended while it started: %s", s.Name, s.said())
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("%s does not answer: %w (%w): %s", s.Name, err, ctx.Err(), s.said())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Ended is closed when the process that was launched last is gone.
func (s *Server) Ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// said is the end of what the process wrote to its standard error.
func (s *Server) said() string {
	if s.Config.Log != "" {
		if b, err := os.ReadFile(s.Config.Log); err == nil {
			s.stderr.Write(b)
		}
	}
	return s.stderr.String()
}

// Exited says that the process has ended, and what it wrote last; nil while it runs.
func (s *Server) Exited() error {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	select {
	case <-ended:
		return fmt.Errorf("%s has ended: %s", s.Name, s.stderr.String())
	default:
		return nil
	}
}

// DSN names a database of the server for the Go driver.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("root@unix(%s)/%s?interpolateParams=true&timeout=5s", s.Socket, database)
}

// Open opens a database of the server; "" opens none.
func (s *Server) Open(database string) (*sql.DB, error) { return open(s.DSN(database)) }

// Pid of the process.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Processes of the server that run: one or none.
func (s *Server) Processes() ([]int, error) {
	if pid := s.Pid(); pid != 0 && s.Exited() == nil {
		return []int{pid}, nil
	}
	return nil, nil
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (s *Server) Kill() error { return s.signal(syscall.SIGKILL) }

// Stop asks the process to end and waits until it has.
func (s *Server) Stop() error { return s.signal(syscall.SIGTERM) }

// Dump ends the process as one that hangs: if it is a Go program it writes the stacks of all its goroutines first.
func (s *Server) Dump() error { return s.signal(syscall.SIGQUIT) }

func (s *Server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	default:
	}
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", s.Name, err)
	}
	<-ended
	return nil
}

// Status reads the counters of the server that are numbers.
func (s *Server) Status(ctx context.Context, db *sql.DB) (map[string]float64, error) {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]float64{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = v
		}
	}
	return found, rows.Err()
}

// CPU is the time the process has spent on the processors so far, user and system.
func (s *Server) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Pid()))
	if err != nil {
		return 0, err
	}
	after := stat[bytes.LastIndexByte(stat, ')')+2:] // the name may hold anything
	f := strings.Fields(string(after))
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", s.Pid(), stat)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / clockTicks), errors.Join(err1, err2)
}

// clockTicks a second in /proc (USER_HZ), the same on all Linux architectures Go runs on.
const clockTicks = 100

// tail keeps the end of what was written.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if n := len(t.end) - tailBytes; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.end))
}

// Memory is the resident memory of the process that is neither a file nor shared, in bytes.
func (s *Server) Memory() (int64, error) {
	name := fmt.Sprintf("/proc/%d/status", s.Pid())
	status, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no RssAnon", name)
}
