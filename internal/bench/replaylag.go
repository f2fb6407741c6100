package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hearthdb/hearth/internal/replay"
	"github.com/hearthdb/hearth/internal/slowlog"
)

// What the bars of the design ask for.
const (
	lagRate      = 10_000 // entries a second
	lagBar       = time.Second
	releaseLimit = time.Minute // then it is given up that the age falls
)

// live is a log that is written in real time, the daemon that serves it, and a replay of what it serves to MariaDB.
type live struct {
	log     *os.File
	daemon  *exec.Cmd
	player  *replay.Player
	src     replay.Source
	written int64 // entries, when writing has ended

	stopWriting chan struct{}
	wrote       chan error
	cancel      context.CancelFunc
	played      chan error
}

// startDaemon serves a log, and returns its address.
func (b *replayBench) startDaemon(ctx context.Context, log string) (cmd *exec.Cmd, url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	listen := l.Addr().String()
	l.Close()
	cmd = b.Daemon(ctx, log, listen)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start the daemon: %w", err)
	}
	if err := awaitHealth(ctx, http.DefaultClient, "http://"+listen); err != nil {
		endProcess(cmd)
		return nil, "", fmt.Errorf("%w; it said: %s", err, said.String())
	}
	return cmd, "http://" + listen + "/slow", nil
}

// endProcess kills a child and waits for it.
func endProcess(cmd *exec.Cmd) {
	if cmd != nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// goLive starts it all; the first entry is written when the replay is there to hear it.
func (b *replayBench) goLive(ctx context.Context, dsn string) (*live, error) {
	v := &live{stopWriting: make(chan struct{}), wrote: make(chan error, 1), played: make(chan error, 1)}
	var err error
	name := filepath.Join(b.dir, fmt.Sprintf("live-%d.log", time.Now().UnixNano()))
	if v.log, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	fail := func(err error) (*live, error) {
		v.log.Close()
		endProcess(v.daemon)
		return nil, err
	}
	if _, err := v.log.Write(slowlog.AppendBanner(nil, "/usr/sbin/mysqld", "8.0.36", 3306, "/run/mysqld.sock")); err != nil {
		return fail(err)
	}
	var url string
	if v.daemon, url, err = b.startDaemon(ctx, name); err != nil {
		return fail(err)
	}
	c := b.player(dsn)
	c.Log = b.tell
	if v.player, err = replay.New(ctx, c); err != nil {
		return fail(err)
	}
	if v.src, err = replay.OpenSource(ctx, replay.SourceConfig{From: url, Log: b.tell}); err != nil {
		v.player.Close()
		return fail(err)
	}
	ctx, v.cancel = context.WithCancel(ctx)
	go func() { v.played <- v.player.Run(ctx, v.src) }()
	go func() { v.wrote <- v.write(b.Rows, 2*b.Connections) }()
	return v, nil
}

// write puts entries into the log at lagRate, each with the time of its writing, as a server does.
func (v *live) write(rows, sessions int) error {
	var piece []byte
	start := time.Now()
	for {
		select {
		case <-v.stopWriting:
			return nil
		case <-time.After(time.Millisecond):
		}
		now := time.Now()
		for piece = piece[:0]; v.written < int64(now.Sub(start).Seconds()*lagRate); v.written++ {
			piece = slowlog.AppendEntry(piece, pointEntry(int(v.written), rows, sessions, now), false)
		}
		if _, err := v.log.Write(piece); err != nil {
			return err
		}
	}
}

// end stops writing, waits until all that was written is accounted for, and returns the accounts.
func (v *live) end(ctx context.Context) (t replay.Totals, err error) {
	close(v.stopWriting)
	err = <-v.wrote
	for end := time.Now().Add(releaseLimit); err == nil; time.Sleep(20 * time.Millisecond) {
		t = v.player.Accounts.Totals()
		sum := int64(0)
		for _, o := range replay.Outcomes {
			sum += t.Sum(o)
		}
		// An entry ends where the next one begins: the last stays with the reader.
		if t.Received >= v.written-1 && sum == t.Received {
			break
		}
		if err = ctx.Err(); err == nil && time.Now().After(end) {
			err = fmt.Errorf("%d entries were written: %s", v.written, t)
		}
	}
	v.cancel()
	if e := <-v.played; !errors.Is(e, context.Canceled) { // it proves its accounts
		err = errors.Join(err, e)
	}
	v.src.Close()
	v.player.Close()
	endProcess(v.daemon)
	return t, errors.Join(err, v.log.Close())
}

// lag is how old statements are when they have run on the standby, while the source logs lagRate a second.
func (b *replayBench) lag(ctx context.Context) error {
	s, _, err := b.mariadb(ctx)
	if err != nil {
		return err
	}
	v, err := b.goLive(ctx, s.DSN("sbtest"))
	if err != nil {
		return err
	}
	var p50, p99 []float64
	for n := range b.Runs + 1 {
		select {
		case <-ctx.Done():
		case <-time.After(b.RunTime):
		}
		if st := v.player.Status(); n > 0 { // the first is the start
			b.tell("lag: run %d of %d: age p50 %v p99 %v", n, b.Runs, st.Age50, st.Age99)
			p50, p99 = append(p50, st.Age50.Seconds()*1e3), append(p99, st.Age99.Seconds()*1e3)
		}
	}
	t, err := v.end(ctx)
	if err != nil {
		return err
	}
	b.put("age at 10,000 entries/s, p50", "ms", p50...)
	b.put("age at 10,000 entries/s, p99", "ms", p99...)
	b.put("entries shed at 10,000 entries/s", "%", 100*float64(t.Sum(replay.Shed))/float64(t.Received))
	return nil
}

// stall stops the target for a while: what memory that costs, and when the replay is back.
func (b *replayBench) stall(ctx context.Context) error {
	s, _, err := b.mariadb(ctx)
	if err != nil {
		return err
	}
	v, err := b.goLive(ctx, s.DSN("sbtest"))
	if err != nil {
		return err
	}
	pause := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	pause(b.RunTime / 2)
	before, err := residentMemory(os.Getpid())
	if err != nil {
		return err
	}
	most := before
	if err := syscall.Kill(s.Pid(), syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(b.Stall); time.Now().Before(end) && ctx.Err() == nil; pause(100 * time.Millisecond) {
		m, err := residentMemory(os.Getpid())
		if err != nil {
			return err
		}
		most = max(most, m)
	}
	if err := syscall.Kill(s.Pid(), syscall.SIGCONT); err != nil {
		return err
	}
	released, back := time.Now(), time.Duration(0)
	v.player.Status()
	for back == 0 && time.Since(released) < releaseLimit && ctx.Err() == nil {
		pause(250 * time.Millisecond)
		if st := v.player.Status(); st.Age99 > 0 && st.Age99 <= lagBar {
			back = time.Since(released)
		}
	}
	t, err := v.end(ctx)
	if err != nil {
		return err
	}
	if back == 0 {
		return fmt.Errorf("the age does not fall to %v in %v: %s", lagBar, releaseLimit, t)
	}
	b.tell("stall: %s", t)
	name := fmt.Sprintf("target stopped for %v at 10,000 entries/s: ", b.Stall)
	b.put(name+"memory grows by", "MB", float64(most-before)/1e6)
	b.put(name+"p99 age below 1 s after", "s", back.Seconds())
	b.put(name+"entries shed", "%", 100*float64(t.Sum(replay.Shed))/float64(t.Received))
	return nil
}

// daemonLoad is how fast the log of a busy source grows, in bytes a second.
const daemonLoad = 5e6

// daemon is what the daemon costs the source: processor time while the log grows and one client reads it.
func (b *replayBench) daemon(ctx context.Context) error {
	name := filepath.Join(b.dir, "daemon.log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, url, err := b.startDaemon(ctx, name)
	if err != nil {
		return err
	}
	defer endProcess(cmd)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, encoding := range []string{"zstd", "identity"} {
		var shares []float64
		for range b.Runs {
			v, err := daemonShare(ctx, cmd.Process.Pid, url, encoding, log, b.RunTime)
			if err != nil {
				return err
			}
			shares = append(shares, v)
		}
		what := map[string]string{"zstd": "compressed", "identity": "not compressed"}[encoding]
		b.put("daemon, log grows at 5 MB/s, one client, "+what, "% of one CPU", shares...)
	}
	return nil
}

// daemonShare is the share of one processor that the daemon takes while the log grows and one client reads it.
func daemonShare(ctx context.Context, pid int, url, encoding string, log *os.File, d time.Duration) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var got counter
	go got.readAll(resp.Body)
	before, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	var piece []byte
	start, size, n := time.Now(), 0, 0
	for time.Since(start) < d {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		time.Sleep(5 * time.Millisecond)
		want := int(time.Since(start).Seconds() * daemonLoad)
		for piece = piece[:0]; size+len(piece) < want; n++ {
			piece = mysqlEntry(piece, n)
		}
		size += len(piece)
		if _, err := log.Write(piece); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	after, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	if got.n.Load() == 0 {
		return 0, errors.New("the client got nothing")
	}
	return 100 * (after - before).Seconds() / took.Seconds(), nil
}

// counter counts what a client gets.
type counter struct{ n atomic.Int64 }

func (c *counter) readAll(in io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		c.n.Add(int64(n))
		if err != nil {
			return // the end of the measurement
		}
	}
}

// cpuOf a process, user and system, from the scheduler's own count in ns.
func cpuOf(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	sum := time.Duration(0)
	for _, name := range tasks {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(b), &ns); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}
