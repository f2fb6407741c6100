package slowlogd

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a sleep that the process is woken from once. A timer of Go's ends a wait of whole ms, mostly too early, and another one of
// 1 ms follows it; at sixty sleeps a second these are a third of what the daemon costs.
type alarm struct {
	file *os.File // a timerfd
	conn syscall.RawConn
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &alarm{file, conn}, nil
}

// set lets wait return after d, or at once.
func (a *alarm) set(d time.Duration) error {
	d = max(d, 1) // 0 would be never
	var err error
	closed := a.conn.Control(func(fd uintptr) {
		err = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	})
	return errors.Join(closed, err)
}

// wait returns when the time that was set last is over, and fails once the alarm is closed.
func (a *alarm) wait() error {
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err
}

func (a *alarm) close() { a.file.Close() }
