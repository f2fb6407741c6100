package slowlogd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Defaults.
const (
	DefaultListen    = "127.0.0.1:3307" // the port of mysql_slowlogd
	DefaultMaxBehind = 1 << 30
	DefaultHeartbeat = 10 * time.Second
	DefaultStall     = 5 * time.Minute
	DefaultClients   = 100
	readHeader       = 10 * time.Second // how long a client may take to ask
	stopping         = 5 * time.Second  // how long clients are given to take their last bytes
)

// Config of the daemon.
type Config struct {
	Log       string // the file, or a symbolic link to it
	Listen    string // host:port
	TLSCert   string
	TLSKey    string
	TokenFile string // a file whose first line clients must send as bearer token
	Token     string // the token itself; TokenFile goes before it
	Insecure  bool   // listen beyond the loopback interface without a token

	MaxBehind  int64         // bytes a client may fall behind, counted from where it began, before it is made to skip; 0: any
	Heartbeat  time.Duration // how often a client that has all is told so
	Stall      time.Duration // how long a client may accept nothing
	MaxClients int
	Look       time.Duration // see DefaultLook
	Grace      time.Duration // see DefaultGrace

	Logger *slog.Logger
	Ready  func(net.Addr) // called when clients are served
}

func (c *Config) setDefaults() {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&c.Heartbeat, DefaultHeartbeat}, {&c.Stall, DefaultStall}, {&c.Look, DefaultLook}, {&c.Grace, DefaultGrace}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if c.MaxClients <= 0 {
		c.MaxClients = DefaultClients
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Run serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	c.setDefaults()
	if err := checkLog(c.Log); err != nil {
		return err
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	if err := checkListen(c.Listen, token != "" || c.Insecure); err != nil {
		return err
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--listen %s: the port is in use, perhaps by another slowlogd; choose one with --listen 127.0.0.1:PORT", c.Listen)
	}
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if tlsConfig != nil {
		listener = tls.NewListener(listener, tlsConfig)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := newDaemon(c, token)
	if err != nil {
		listener.Close()
		return err
	}
	server := &http.Server{
		Handler: d.handler(), ReadHeaderTimeout: readHeader, IdleTimeout: c.Stall,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 3)
	var running sync.WaitGroup
	running.Go(func() { ended <- d.follower.run(ctx) })
	running.Go(func() { d.reap(ctx) })
	running.Go(func() { ended <- server.Serve(listener) })
	c.Logger.Info("serving", "log", c.Log, "url", d.url(listener.Addr(), tlsConfig != nil))
	if c.Ready != nil {
		c.Ready(listener.Addr())
	}

	select {
	case <-ctx.Done():
		err = nil
	case err = <-ended:
	}
	cancel() // streams end at the next boundary
	stop, done := context.WithTimeout(context.Background(), stopping)
	defer done()
	if server.Shutdown(stop) != nil {
		server.Close()
	}
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

func (d *daemon) url(addr net.Addr, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return scheme + "://" + addr.String() + "/slow"
}

// token reads the token that clients must send; empty: none.
func (c *Config) token() (string, error) {
	if c.TokenFile == "" {
		return c.Token, nil
	}
	b, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token, _, _ := strings.Cut(string(b), "\n")
	if token = strings.TrimSpace(token); token == "" {
		return "", fmt.Errorf("--token-file %s: its first line is empty", c.TokenFile)
	}
	return token, nil
}

func (c *Config) tls() (*tls.Config, error) {
	switch {
	case c.TLSCert == "" && c.TLSKey == "":
		return nil, nil
	case c.TLSCert == "" || c.TLSKey == "":
		return nil, errors.New("TLS needs both --tls-cert and --tls-key")
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// checkListen refuses to show statements, with the data and the passwords in them, to the whole network.
func checkListen(listen string, guarded bool) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %s: write host:port, for example %s", listen, DefaultListen)
	}
	if guarded || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s: whoever reaches this address would read every statement; give a --token-file (and --tls-cert), or say --insecure", listen)
}

// reap looks after clients that do not keep up.
func (d *daemon) reap(ctx context.Context) {
	t := time.NewTicker(d.config.Look)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		for _, c := range d.list() {
			c.cursor.overrun()
		}
	}
}

// deadlineWriter gives each write its own time, and copies what is written to nobody.
type deadlineWriter struct {
	w     io.Writer
	rc    *http.ResponseController
	stall time.Duration
}

func (w deadlineWriter) Write(p []byte) (int, error) {
	w.rc.SetWriteDeadline(time.Now().Add(w.stall))
	return w.w.Write(p)
}

func (w deadlineWriter) Flush() error {
	w.rc.SetWriteDeadline(time.Now().Add(w.stall))
	return w.rc.Flush()
}
