package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	percona "github.com/percona/go-mysql/log"
	"github.com/percona/go-mysql/log/slow"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// slowlogMeasure is the name of these figures.
const slowlogMeasure = "slowlog"

// SlowlogConfig of a measurement of the slow log's reader and daemon.
type SlowlogConfig struct {
	Dir     string
	Entries int           // in the log that is read
	Relay   int64         // bytes of the log that is relayed
	Runs    int           // of each case
	Delays  int           // entries whose way from the writer to a client is timed
	Clients int           // at a time
	Steady  time.Duration // for how long the daemon follows a log at a steady rate

	// Daemon makes the command that serves a log.
	Daemon func(ctx context.Context, log, listen string) *exec.Cmd
}

// Slowlog measures how fast a slow log is read, beside percona/go-mysql, and how fast it is relayed. Both read the same file,
// which is in the page cache, and look at the text and the time of each entry. What a reader does in a second of the clock
// depends on who else needs the cores, so that what it does in a second of a core is told, too.
func Slowlog(ctx context.Context, cfg SlowlogConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	if err := slowlogReaders(ctx, cfg, dir, out); err != nil {
		return err
	}
	return slowlogRelay(ctx, cfg, dir, out)
}

// mysqlEntry appends an entry of about 400 bytes as MySQL 8.0 writes it.
func mysqlEntry(log []byte, i int) []byte {
	log = fmt.Appendf(log, "# Time: 2025-05-05T05:%02d:%02d.%06dZ\n# User@Host: app[app] @ web1 [10.2.0.3]  Id: %5d\n"+
		"# Query_time: 0.000200  Lock_time: 0.000004 Rows_sent: 1  Rows_examined: 17\n", i/60%60, i%60, i%1e6, i%200)
	if i%10 == 0 {
		log = fmt.Appendf(log, "use shop%d;\n", i/10%3)
	}
	return fmt.Appendf(log, "SET timestamp=1746421501;\nSELECT o.id, o.state, c.name, c.email FROM orders o JOIN customer c ON c.id = o.customer_id "+
		"WHERE o.shop = %d AND o.state IN ('open', 'paid', 'late') AND c.email = 'someone.with.a.name+%d@example.net' ORDER BY o.created DESC LIMIT 20;\n", i%100, i)
}

func slowlogReaders(ctx context.Context, cfg SlowlogConfig, dir string, out Output) error {
	log := slowlog.AppendBanner(nil, "/usr/sbin/mysqld", "8.0.36 (MySQL Community Server - GPL)", 3306, "/run/mysqld.sock")
	for i := range cfg.Entries {
		log = mysqlEntry(log, i)
	}
	path := filepath.Join(dir, "read.log")
	if err := os.WriteFile(path, log, 0o644); err != nil {
		return err
	}
	mb, n := float64(len(log))/1e6, float64(cfg.Entries)
	out.Progress("slowlog: reading %d entries, %.0f MB", cfg.Entries, mb)
	systems := []struct {
		name string
		read func(*os.File) (int, error)
	}{{ours, readOurs}, {"percona/go-mysql", readPercona}}
	type figures struct{ bytes, bytesCPU, entries, entriesCPU []float64 }
	all := make([]figures, len(systems))
	for range cfg.Runs {
		for i, s := range systems { // taking turns (rule 1)
			if err := ctx.Err(); err != nil {
				return err
			}
			took, cpu, err := timeReader(path, cfg.Entries, s.read)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			f := &all[i]
			f.bytes, f.bytesCPU = append(f.bytes, mb/took.Seconds()), append(f.bytesCPU, mb/cpu.Seconds())
			f.entries, f.entriesCPU = append(f.entries, n/took.Seconds()), append(f.entriesCPU, n/cpu.Seconds())
		}
	}
	for i, s := range systems {
		f := &all[i]
		out.Result(NewResult(slowlogMeasure, s.name, "read", 1, "MB/s", f.bytes))
		out.Result(NewResult(slowlogMeasure, s.name, "read", 1, "MB/s of a core", f.bytesCPU))
		out.Result(NewResult(slowlogMeasure, s.name, "read", 1, "entries/s", f.entries))
		out.Result(NewResult(slowlogMeasure, s.name, "read", 1, "entries/s of a core", f.entriesCPU))
	}
	var times []float64
	for run := range cfg.Runs {
		times = append(times, all[0].bytesCPU[run]/all[1].bytesCPU[run])
	}
	out.Result(NewResult(slowlogMeasure, ours, "read, to percona/go-mysql by cores", 1, "times", times))
	return nil
}

// timeReader reads a log once. It tells how long that took by the clock, and how long it had cores.
func timeReader(path string, want int, read func(*os.File) (int, error)) (took, cpu time.Duration, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	runtime.GC() // what the one before left is not to be cleaned up at the cost of this one
	start, startCPU := time.Now(), cpuTime()
	got, err := read(f)
	if err == nil && got != want {
		err = fmt.Errorf("%d entries read, the log has %d", got, want)
	}
	return time.Since(start), cpuTime() - startCPU, err
}

func readOurs(f *os.File) (n int, err error) {
	r := slowlog.NewReader(f, slowlog.Options{})
	var e slowlog.Entry
	for {
		switch err := r.Next(&e); {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		case len(e.Text) == 0 || e.QueryTime == 0:
			return n, fmt.Errorf("entry %d has no text or no time", n)
		}
		n++
	}
}

func readPercona(f *os.File) (n int, err error) {
	p := slow.NewSlowLogParser(f, percona.Options{})
	ended := make(chan error, 1)
	go func() { ended <- p.Start() }()
	for e := range p.EventChan() {
		if len(e.Query) == 0 || e.TimeMetrics["Query_time"] == 0 {
			return n, fmt.Errorf("entry %d has no text or no time", n)
		}
		n++
	}
	return n, <-ended
}
