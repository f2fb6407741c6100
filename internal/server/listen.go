package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Inherited is a listener that was open before the process began.
type Inherited struct {
	net.Listener
	Name string
}

// InheritedListeners are those of the service manager's socket activation (LISTEN_FDS), none if there are none. The variables
// that announce them are removed, so that no child takes them for its own.
func InheritedListeners() ([]Inherited, error) {
	const firstFD = 3
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	for _, v := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(v)
	}
	if n, err := strconv.Atoi(pid); err != nil || n != os.Getpid() {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("socket activation: LISTEN_FDS is %q, want a number", count)
	}
	var list []Inherited
	for i := range n {
		fd := firstFD + i
		unix.CloseOnExec(fd)
		name := "LISTEN_FD_" + strconv.Itoa(fd)
		if i < len(names) && names[i] != "" {
			name = names[i]
		}
		f := os.NewFile(uintptr(fd), name)
		l, err := net.FileListener(f)
		f.Close() // FileListener has one of its own
		if err != nil {
			return nil, fmt.Errorf("socket activation: descriptor %d (%s): %w", fd, name, err)
		}
		list = append(list, Inherited{l, name})
	}
	return list, nil
}

// openListeners opens the addresses of the configuration, but for a unix socket in the directory of a database that is yet to be
// made: the engine makes one only where nothing is.
func openListeners(c *Config) (list []net.Listener, err error) {
	if len(c.Activated) > 0 {
		for _, l := range c.Activated {
			list = append(list, l.Listener)
		}
		return list, nil
	}
	defer func() {
		if err != nil {
			for _, l := range list {
				l.Close()
			}
		}
	}()
	if c.Listen != Off {
		l, err := net.Listen("tcp", c.Listen)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return list, fmt.Errorf("%s is in use: another server listens there; stop it, or choose another address with --listen", c.Listen)
		case errors.Is(err, os.ErrPermission):
			return list, fmt.Errorf("may not listen on %s: ports below 1024 need privileges; choose another address with --listen", c.Listen)
		case err != nil:
			return list, fmt.Errorf("listen on %s: %w", c.Listen, err)
		}
		list = append(list, l)
	}
	if c.Socket != Off && !socketWaits(c) {
		l, err := listenUnix(c.Socket)
		if err != nil {
			return list, err
		}
		list = append(list, l)
	}
	return list, nil
}

// socketWaits: the unix socket is opened behind the database.
func socketWaits(c *Config) bool {
	if len(c.Activated) > 0 || c.Socket == Off || filepath.Dir(c.Socket) != c.Data {
		return false
	}
	files, err := os.ReadDir(c.Data)
	return err == nil && len(files) == 0
}

// listenUnix opens a unix socket that all users may connect to. A file that a dead server left is removed: who listens on it
// still answers, and nobody is disturbed.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is in the way of the unix socket and is none; remove it, or choose another path with --socket", path)
		}
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close()
			return nil, fmt.Errorf("%s is in use: another server listens there; stop it, or choose another path with --socket", path)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("remove the socket of a server that is gone: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EROFS) {
		return nil, fmt.Errorf("%s is on a file system that is mounted read-only; mount it for writing, or choose another path with --socket", path)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

// door is the listener the protocol library sees: all addresses in one, behind the refusals that need no library.
type door struct {
	listeners []net.Listener       // complete before the library sees it
	admit     func(net.Conn) *wire // nil: refused, and closed
	wires     chan *wire
	done      chan struct{}
	closing   atomic.Bool
	accepting sync.WaitGroup
}

// A listener that fails is tried again after acceptPause: descriptors may be short for a while.
const acceptPause = 50 * time.Millisecond

func openDoor(listeners []net.Listener, admit func(net.Conn) *wire) *door {
	d := &door{admit: admit, wires: make(chan *wire), done: make(chan struct{})}
	for _, l := range listeners {
		d.add(l)
	}
	return d
}

func (d *door) add(l net.Listener) {
	d.listeners = append(d.listeners, l)
	d.accepting.Go(func() { d.accept(l) })
}

func (d *door) accept(l net.Listener) {
	for {
		raw, err := l.Accept()
		if err != nil {
			if d.closing.Load() || errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-d.done:
				return
			case <-time.After(acceptPause):
				continue
			}
		}
		w := d.admit(raw)
		if w == nil {
			raw.Close()
			continue
		}
		select {
		case d.wires <- w:
		case <-d.done:
			w.Close()
			return
		}
	}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case w := <-d.wires:
		return w, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener: nobody comes in any more.
func (d *door) Close() error {
	if d.closing.Swap(true) {
		return nil
	}
	close(d.done)
	var errs []error
	for _, l := range d.listeners {
		errs = append(errs, l.Close())
	}
	d.accepting.Wait()
	return errors.Join(errs...)
}

// Addr implements net.Listener: the first TCP address, or the first there is.
func (d *door) Addr() net.Addr {
	for _, l := range d.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return a
		}
	}
	return d.listeners[0].Addr()
}

// refuse tells a client before the greeting why it cannot come in. It waits for nobody: the packet fits in the socket's buffer.
func refuse(raw net.Conn, body []byte) {
	raw.SetWriteDeadline(time.Now().Add(time.Second))
	packet := append([]byte{byte(len(body)), byte(len(body) >> 8), 0, 0}, body...)
	raw.Write(packet)
}
