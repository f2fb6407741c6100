package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/hearthdb/hearth"
)

// gcPercent of a server: its pages are not on the Go heap, so that the heap is small and would be collected all the time.
const gcPercent = 400

// Run serves until ctx ends, or a client with the right to says SHUTDOWN, and then stops in order. Words for whoever started it go to out.
func Run(ctx context.Context, cfg Config, out io.Writer) error {
	s, err := Start(ctx, cfg)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.cfg.MemoryLimit)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	s.introduce(out)
	notify("READY=1", "STATUS=serving on "+strings.Join(s.names(), ", "))

	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case <-s.askedToStop:
			running = false
		case <-hangups: // logs were rotated
			if err := s.FlushSlowLog(ctx); err != nil {
				s.log.Error("reopen the slow query log", "err", err)
			}
		}
	}
	notify("STOPPING=1", "STATUS=stopping")
	fmt.Fprintf(out, "stopping; running statements have %v\n", s.cfg.ShutdownTimeout)
	end, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	if err := s.Close(end); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	fmt.Fprintln(out, "stopped")
	return nil
}

// introduce says what was found, where the server listens and how to come in.
func (s *Server) introduce(out io.Writer) {
	report := s.db.StartReport()
	if report.Kind == hearth.StartNew {
		fmt.Fprintf(out, "made a new database in %s\n", s.cfg.Data)
	} else {
		fmt.Fprintf(out, "database in %s\n", s.cfg.Data)
	}
	fmt.Fprintf(out, "start: %s\n", report)
	if !report.Survives {
		fmt.Fprintf(out, "warning: the pages in memory do not outlive this process, so the next start will be a cold one; see --memory and --memory-dir\n")
	}
	fmt.Fprintf(out, "listening on %s\n", strings.Join(s.names(), " and "))
	for _, a := range s.Addrs() {
		fmt.Fprintf(out, "connect with: %s\n", connectLine(a))
	}
	if s.RootIsOpen() {
		fmt.Fprintf(out, "warning: root has no password, and so may log in from this machine only; set one: ALTER USER root@localhost IDENTIFIED BY '...'\n")
	}
}

func (s *Server) names() (names []string) {
	for _, a := range s.Addrs() {
		names = append(names, a.String())
	}
	return names
}

// connectLine is what a user types to connect.
func connectLine(a net.Addr) string {
	if a.Network() == "unix" {
		return "mariadb -u root -S " + a.String()
	}
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "mariadb -u root"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return fmt.Sprintf("mariadb -u root -h %s -P %s", host, port)
}
