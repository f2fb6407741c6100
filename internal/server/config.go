package server

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/hearthdb/hearth"
)

// Config of a server. The zero value of a field is its default.
type Config struct {
	Data   string         // directory of the database; made if there is none
	Engine hearth.Options // of the storage engine; its Logger is Log

	Listen    string      // TCP address, host:port; default 127.0.0.1:3306; "off": none
	Socket    string      // unix socket; default mysql.sock in Data; "off": none
	Activated []Inherited // listeners the service manager opened; they replace Listen and Socket

	MaxConnections  int           // clients at a time, and one more that may administer; default 1000
	ConnectTimeout  time.Duration // for a client to log in; default 10 s
	WaitTimeout     time.Duration // a client may be idle; default 8 h. Whole seconds, as the variables of MySQL
	NetReadTimeout  time.Duration // for the next piece of a packet; default 30 s
	NetWriteTimeout time.Duration // for a client to take the next piece of an answer; default 60 s
	MaxPacket       int64         // bytes of a statement; default 64 MiB, most 1 GiB
	MaxPrepared     int           // prepared statements of all clients; default 16382
	MemoryLimit     int64         // bytes that connections, sorts and results may take beyond the pool; default: see defaultMemory
	MaxResultMemory int64         // bytes one statement may hold for a cursor or a sort; default a quarter of MemoryLimit

	TLSCert, TLSKey        string // PEM files; default: a certificate of the server's own, kept in Data
	NoTLS                  bool
	RequireSecureTransport bool // refuse clients without TLS, but on a unix socket

	ReadOnly bool // refuse changes of accounts that do not administer; while the server runs: read_only

	EventScheduler string // ON, OFF or DISABLED, which SET cannot change; default ON

	SlowLog       bool          // log slow statements; while the server runs: slow_query_log
	SlowLogFile   string        // default: HOSTNAME-slow.log in Data
	LongQueryTime time.Duration // a statement that takes as long is slow; default 10 s, below 0: every statement

	ShutdownTimeout time.Duration // running statements may go on for; default 10 s
	Flush           bool          // stop with every page written to its file

	Log *slog.Logger // default: slog.Default()
}

// Defaults of a Config.
const (
	DefaultListen          = "127.0.0.1:3306"
	DefaultSocketName      = "mysql.sock" // in the directory of the database
	DefaultMaxConnections  = 1000
	DefaultConnectTimeout  = 10 * time.Second
	DefaultWaitTimeout     = 8 * time.Hour
	DefaultNetReadTimeout  = 30 * time.Second
	DefaultNetWriteTimeout = 60 * time.Second
	DefaultMaxPacket       = 64 << 20
	DefaultMaxPrepared     = 16382
	DefaultShutdownTimeout = 10 * time.Second
	DefaultLongQueryTime   = 10 * time.Second

	// Off in place of an address or a path: do not listen there.
	Off = "off"

	maxMaxPacket      = 1 << 30
	maxMaxConnections = 100_000 // as far as the variable goes
	maxSocketPath     = 107     // bytes the kernel takes
	minMemoryLimit    = 64 << 20
)

// withDefaults returns the configuration with nothing left open, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.Data == "" {
		return c, errors.New("the directory of the database is not given (--data)")
	}
	if abs, err := filepath.Abs(c.Data); err == nil {
		c.Data = abs
	}
	if c.SlowLogFile != "" {
		if abs, err := filepath.Abs(c.SlowLogFile); err == nil {
			c.SlowLogFile = abs
		}
	}
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Socket == "" {
		c.Socket = filepath.Join(c.Data, DefaultSocketName)
		if len(c.Socket) > maxSocketPath {
			c.Log.Warn("no unix socket: its path would be too long; give a shorter one with --socket", "path", c.Socket, "bytes", len(c.Socket), "most", maxSocketPath)
			c.Socket = Off
		}
	}
	def(&c.MaxConnections, DefaultMaxConnections)
	def(&c.ConnectTimeout, DefaultConnectTimeout)
	def(&c.WaitTimeout, DefaultWaitTimeout)
	def(&c.NetReadTimeout, DefaultNetReadTimeout)
	def(&c.NetWriteTimeout, DefaultNetWriteTimeout)
	def(&c.MaxPacket, DefaultMaxPacket)
	def(&c.MaxPrepared, DefaultMaxPrepared)
	def(&c.ShutdownTimeout, DefaultShutdownTimeout)
	def(&c.SlowLogFile, defaultSlowLogFile(c.Data))
	def(&c.LongQueryTime, DefaultLongQueryTime)
	c.LongQueryTime = max(0, c.LongQueryTime)
	def(&c.EventScheduler, schedulerOn)
	def(&c.Engine.PoolSize, hearth.DefaultPoolSize)
	def(&c.MemoryLimit, defaultMemory(c.Engine.PoolSize))
	def(&c.MaxResultMemory, c.MemoryLimit/4)
	c.Engine.Logger = c.Log

	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.MaxConnections < 1 || c.MaxConnections > maxMaxConnections, "max connections is %d, want 1 to %d", c.MaxConnections, maxMaxConnections)
	bad(c.MaxPacket < 1024 || c.MaxPacket > maxMaxPacket, "max packet is %d bytes, want 1024 to %d", c.MaxPacket, maxMaxPacket)
	bad(c.MemoryLimit < minMemoryLimit, "memory limit is %d bytes, want at least %d", c.MemoryLimit, minMemoryLimit)
	bad((c.TLSCert == "") != (c.TLSKey == ""), "a TLS certificate and its key must be given together")
	bad(c.NoTLS && c.TLSCert != "", "a TLS certificate is given and TLS switched off")
	bad(c.NoTLS && c.RequireSecureTransport, "secure transport is required and TLS switched off")
	bad(c.Socket != Off && len(c.Socket) > maxSocketPath, "the path of the socket has %d bytes, the kernel takes %d: %s", len(c.Socket), maxSocketPath, c.Socket)
	bad(c.Listen == Off && c.Socket == Off && len(c.Activated) == 0, "neither a TCP address nor a unix socket to listen on")
	bad(!slices.Contains([]string{schedulerOff, schedulerOn, schedulerDisabled}, c.EventScheduler),
		"event scheduler is %q, want ON, OFF or DISABLED", c.EventScheduler)
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"wait timeout", c.WaitTimeout}, {"net read timeout", c.NetReadTimeout}, {"net write timeout", c.NetWriteTimeout}, {"connect timeout", c.ConnectTimeout}} {
		bad(d.d < time.Second, "%s is %v, want at least a second", d.name, d.d)
	}
	if len(errs) > 0 {
		return c, fmt.Errorf("configuration: %w", errors.Join(errs...))
	}
	return c, nil
}

func def[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}

// variables are the system variables that show and, while the server runs, change what the configuration began with.
func (c *Config) variables() map[string]any {
	sec := func(d time.Duration) int64 { return int64(d / time.Second) }
	return map[string]any{
		"max_connections":          int64(c.MaxConnections),
		"connect_timeout":          max(2, sec(c.ConnectTimeout)),
		"wait_timeout":             sec(c.WaitTimeout),
		"interactive_timeout":      sec(c.WaitTimeout),
		"net_read_timeout":         sec(c.NetReadTimeout),
		"net_write_timeout":        sec(c.NetWriteTimeout),
		"max_allowed_packet":       uint64(c.MaxPacket),
		"max_prepared_stmt_count":  int64(c.MaxPrepared),
		"require_secure_transport": c.RequireSecureTransport,
		"datadir":                  c.Data + "/",
		"secure_file_priv":         filepath.Join(c.Data, filesDir),
		"local_infile":             int8(1),
		"socket":                   c.Socket,
	}
}
