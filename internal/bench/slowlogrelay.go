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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// slowlogRelay measures the daemon: bytes to one client, the way of an entry from the write to a client, what it takes to follow a
// log that grows at a steady rate, memory for many clients.
func slowlogRelay(ctx context.Context, cfg SlowlogConfig, dir string, out Output) error {
	path := filepath.Join(dir, "relay.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	var piece []byte
	entries := 0
	for size := int64(0); size < cfg.Relay; size += int64(len(piece)) {
		for piece = piece[:0]; len(piece) < 1<<20; entries++ {
			piece = mysqlEntry(piece, entries)
		}
		if _, err := log.Write(piece); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	listen := l.Addr().String()
	l.Close()
	daemon := cfg.Daemon(ctx, path, listen)
	var said bytes.Buffer
	daemon.Stderr = &said
	if err := daemon.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	defer func() {
		daemon.Process.Kill()
		daemon.Wait()
	}()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, ReadBufferSize: 256 << 10}}
	defer client.CloseIdleConnections()
	if err := awaitHealth(ctx, client, "http://"+listen); err != nil {
		return fmt.Errorf("%w; it said: %s", err, said.String())
	}
	open := func(ctx context.Context, query string) (io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+listen+"/slow"+query, nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			return nil, fmt.Errorf("GET /slow%s: %s", query, resp.Status)
		}
		return resp.Body, nil
	}

	out.Progress("slowlog: relaying %d MB to one client", cfg.Relay/1e6)
	var rates, ofCore []float64
	for range cfg.Runs {
		start := time.Now()
		startCPU, err := cpuTimeOf(daemon.Process.Pid)
		if err != nil {
			return err
		}
		body, err := open(ctx, "?since=start&follow=0")
		if err != nil {
			return err
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, body, make([]byte, 256<<10))
		body.Close()
		if err != nil || n < cfg.Relay {
			return fmt.Errorf("relayed %d of %d bytes: %v", n, cfg.Relay, err)
		}
		rates = append(rates, float64(n)/1e6/time.Since(start).Seconds())
		cpu, err := cpuTimeOf(daemon.Process.Pid)
		if err != nil {
			return err
		}
		ofCore = append(ofCore, float64(n)/1e6/(cpu-startCPU).Seconds())
	}
	out.Result(NewResult(slowlogMeasure, ours, "relay to one client", 1, "MB/s", rates))
	out.Result(NewResult(slowlogMeasure, ours, "relay to one client", 1, "MB/s of the daemon's core", ofCore))

	out.Progress("slowlog: timing %d entries from the write to a client", cfg.Delays)
	var p50, p99, idle []float64
	for range cfg.Runs {
		delays, sleeps, err := entryDelays(ctx, cfg.Delays, log, open)
		if err != nil {
			return err
		}
		p50 = append(p50, delays[len(delays)/2])
		p99 = append(p99, delays[len(delays)*99/100])
		idle = append(idle, sleeps[len(sleeps)*99/100])
	}
	out.Result(NewResult(slowlogMeasure, ours, "write to client, p50", 1, "ms", p50))
	out.Result(NewResult(slowlogMeasure, ours, "write to client, p99", 1, "ms", p99))
	out.Result(NewResult(slowlogMeasure, "this machine", "a sleep ends too late by, p99", 1, "ms", idle))

	for _, clients := range []int{0, 1} {
		out.Progress("slowlog: following %.1f MB/s for %v, %d clients", slowlogSteady/1e6, cfg.Steady, clients)
		share, err := steadyShare(ctx, cfg.Steady, clients, log, daemon.Process.Pid, open)
		if err != nil {
			return err
		}
		out.Result(NewResult(slowlogMeasure, ours, fmt.Sprintf("following %.0f MB/s", slowlogSteady/1e6), clients, "% of a core", []float64{share}))
	}

	out.Progress("slowlog: %d clients", cfg.Clients)
	before, err := anonymousMemory(strconv.Itoa(daemon.Process.Pid))
	if err != nil {
		return err
	}
	many, cancel := context.WithCancel(ctx)
	defer cancel()
	first := make(chan error, cfg.Clients)
	for range cfg.Clients {
		body, err := open(many, "")
		if err != nil {
			return err
		}
		go func() {
			defer body.Close()
			_, err := io.CopyN(io.Discard, body, 1<<20)
			first <- err
		}()
	}
	for size := 0; size < 2<<20; size += len(piece) {
		if _, err := log.Write(piece); err != nil {
			return err
		}
	}
	for range cfg.Clients {
		if err := <-first; err != nil {
			return err
		}
	}
	after, err := anonymousMemory(strconv.Itoa(daemon.Process.Pid))
	if err != nil {
		return err
	}
	out.Result(NewResult(slowlogMeasure, ours, "memory of clients", cfg.Clients, "MB", []float64{float64(after-before) / 1e6}))
	out.Result(NewResult(slowlogMeasure, ours, "memory of all", cfg.Clients, "MB", []float64{float64(after) / 1e6}))
	return nil
}

// slowlogSteady is the rate, in bytes a second, of a server that logs some 12,000 statements a second.
const slowlogSteady = 5e6

// steadyShare writes entries at slowlogSteady, each with a write of its own as servers do, and tells how many percent of a core
// the daemon takes for it meanwhile, with clients that get all of them as they are.
func steadyShare(ctx context.Context, d time.Duration, clients int, log *os.File, pid int, open func(context.Context, string) (io.ReadCloser, error)) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range clients {
		body, err := open(ctx, "")
		if err != nil {
			return 0, err
		}
		defer body.Close()
		go io.Copy(io.Discard, body)
	}
	var entry []byte
	start, written := time.Now(), 0
	startCPU, err := cpuTimeOf(pid)
	if err != nil {
		return 0, err
	}
	for n := 0; ; time.Sleep(time.Millisecond) {
		took := time.Since(start)
		if took >= d {
			break
		}
		for ; float64(written) < slowlogSteady*took.Seconds(); n++ {
			entry = mysqlEntry(entry[:0], n)
			if _, err := log.Write(entry); err != nil {
				return 0, err
			}
			written += len(entry)
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	cpu, err := cpuTimeOf(pid)
	return (cpu - startCPU).Seconds() / took.Seconds() * 100, err
}

// cpuTimeOf is how long a process has had cores.
func cpuTimeOf(pid int) (time.Duration, error) {
	const ofProcess = 2 // CPUCLOCK_SCHED; a clock's number is made of the process and of what is counted, see clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|ofProcess), &t); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// awaitHealth waits until the daemon reads its log.
func awaitHealth(ctx context.Context, client *http.Client, url string) error {
	const patience = 2 * time.Minute
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		resp, err := client.Get(url + "/healthz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("the daemon at %s does not read its log", url)
}

// entryDelays writes entries at a few hundred a second, and tells in ms how long each took to a client, sorted; and how much longer
// than it should the writer slept between two, sorted, for no entry can be faster than that where others need the cores.
func entryDelays(ctx context.Context, n int, log *os.File, open func(context.Context, string) (io.ReadCloser, error)) (delays, sleeps []float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := open(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	start := time.Now()
	const between = 3 * time.Millisecond
	failed := make(chan error, 1)
	go func() {
		var entry []byte
		for range n {
			text := strconv.AppendInt([]byte("SELECT "), int64(time.Since(start)), 10)
			entry = slowlog.AppendEntry(entry[:0], &slowlog.Entry{Text: text}, false)
			if _, err := log.Write(entry); err != nil {
				failed <- err
				cancel()
				return
			}
			asleep := time.Now()
			time.Sleep(between)
			sleeps = append(sleeps, float64(time.Since(asleep)-between)/1e6)
		}
		failed <- nil
	}()
	r := slowlog.NewReader(body, slowlog.Options{})
	var e slowlog.Entry
	for len(delays) < n {
		if err := r.Next(&e); err != nil {
			select {
			case failure := <-failed:
				err = errors.Join(failure, err)
			default:
			}
			return nil, nil, err
		}
		digits, ok := strings.CutPrefix(string(e.Text), "SELECT ")
		written, err := strconv.ParseInt(digits, 10, 64)
		if ok && err == nil {
			delays = append(delays, float64(time.Since(start)-time.Duration(written))/1e6)
		}
	}
	if err := <-failed; err != nil {
		return nil, nil, err
	}
	slices.Sort(delays)
	slices.Sort(sleeps)
	return delays, sleeps, nil
}

// residentMemory of a process, in bytes.
func residentMemory(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0, err
	}
	return resident * int64(os.Getpagesize()), nil
}
