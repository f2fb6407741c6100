package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// BenchmarkSlowLogEntry is what a statement pays for its entry: made, and put into the queue of a file that a writer goroutine writes.
func BenchmarkSlowLogEntry(b *testing.B) {
	file, err := openSlowFile(filepath.Join(b.TempDir(), "bench.log"))
	if err != nil {
		b.Fatal(err)
	}
	s := &Server{slow: &slowLog{file: newSlowFile(slog.New(slog.DiscardHandler))}, clients: &clients{}}
	s.slow.file.turnTo(file)
	var id atomic.Uint32
	began, used := time.Now(), cpuTime(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		cl := &client{server: s, wire: &wire{local: true}, id: id.Add(1)}
		cl.mu.user = "app"
		for pb.Next() {
			cl.logEntry(&logged{
				kind: slowlog.Query, began: began, took: 450 * time.Microsecond, schema: "shop", sent: 1, examined: 1,
				text: "SELECT c FROM sbtest1 WHERE id = 4711",
			})
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-used)/float64(b.N), "cpu-ns/op")
	s.slow.file.close()
	b.ReportMetric(float64(s.slow.file.lost.Load())/float64(b.N), "lost/op")
	b.SetBytes(int64(s.slow.file.writtenBytes.Load()) / int64(b.N))
}

// cpuTime is what the process has taken of the processors: on a busy machine it says more than the clock.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPointSelect is a statement of a client, with the log of every statement and without.
func BenchmarkPointSelect(b *testing.B) {
	for _, c := range []struct {
		name   string
		change func(*Config)
	}{{"log off", func(*Config) {}}, {"every statement", everyStatement}} {
		b.Run(c.name, func(b *testing.B) {
			s := start(b, c.change)
			c := conn(b, open(b, s))
			exec(b, c, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(100))")
			exec(b, c, "INSERT INTO t VALUES (1, 'x')")
			began := cpuTime(b)
			for b.Loop() {
				var v string
				if err := c.QueryRowContext(context.Background(), "SELECT b FROM t WHERE a = 1").Scan(&v); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(cpuTime(b)-began)/float64(b.N), "cpu-ns/op") // of server and client
			if info, err := os.Stat(s.cfg.SlowLogFile); err == nil {
				b.ReportMetric(float64(info.Size())/float64(b.N), "bytes/op")
			}
		})
	}
}
