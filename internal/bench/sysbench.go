package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
)

// errNoSysbench is told by whoever needs it.
var errNoSysbench = errors.New("sysbench is not installed (on Debian: apt-get install sysbench)")

// sysbench runs Debian's sysbench 1.0 against a server.
type sysbench struct {
	server   *peer.Server
	database string
	tables   int
	rows     int // in each table
	seed     uint64
	text     bool // statements as text, not prepared
	rate     int  // transactions a second; 0: as many as there can be
}

// sysbenchRun is what one run reports.
type sysbenchRun struct {
	Transactions float64 // per second
	Queries      float64 // per second
	Errors       int64   // statements that failed and were tried again
	P95          float64 // ms, of a transaction
	CPU          float64 // µs of the server's processor time a query
	Early, Late  float64 // MiB of the server's memory that is neither a file nor shared: means of the second and the last quarter
}

func (s sysbench) args(script, verb string, more ...string) []string {
	return append(append([]string{
		script, "--db-driver=mysql", "--mysql-socket=" + s.server.Socket, "--mysql-user=root", "--mysql-db=" + s.database,
		fmt.Sprintf("--tables=%d", s.tables), fmt.Sprintf("--table-size=%d", s.rows), fmt.Sprintf("--rand-seed=%d", s.seed),
		"--rand-type=uniform", "--db-ps-mode=" + map[bool]string{true: "disable", false: "auto"}[s.text],
	}, more...), verb)
}

// prepare makes the tables and returns how many rows a second that took, the secondary index included.
func (s sysbench) prepare(ctx context.Context) (rowsPerSecond float64, err error) {
	start := time.Now()
	if _, err := s.call(ctx, s.args("oltp_common", "prepare")); err != nil {
		return 0, err
	}
	return rate(s.tables*s.rows, time.Since(start)), nil
}

// run measures one script.
func (s sysbench) run(ctx context.Context, script string, threads int, d time.Duration) (r sysbenchRun, err error) {
	before, err := s.server.CPU()
	if err != nil {
		return r, err
	}
	memory := watchMemory(s.server, d)
	out, err := s.call(ctx, s.args(script, "run", fmt.Sprintf("--threads=%d", threads), fmt.Sprintf("--rate=%d", s.rate),
		fmt.Sprintf("--time=%d", max(1, int(d.Seconds()))), "--mysql-ignore-errors=1213,1020,1205"))
	early, late := memory()
	if err != nil {
		return r, err
	}
	after, err := s.server.CPU()
	if err != nil {
		return r, err
	}
	r, queries, err := parseSysbench(out)
	r.Early, r.Late = early, late
	if queries > 0 {
		r.CPU = float64((after - before).Microseconds()) / queries
	}
	return r, err
}

// memorySamples is how often the memory of a server is looked at in a run.
const memorySamples = 200

// watchMemory samples the server's own memory until the function it returns is called, which says the means of the second and of the
// last quarter: a server that leaks has more in the last. The first quarter is left out, caches fill in it.
func watchMemory(s *peer.Server, d time.Duration) func() (early, late float64) {
	done := make(chan struct{})
	samples := make(chan []float64, 1)
	go func() {
		var all []float64
		tick := time.NewTicker(max(d/memorySamples, 10*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if m, err := s.Memory(); err == nil { // a server that is gone is found out by sysbench
					all = append(all, float64(m)/(1<<20))
				}
			case <-done:
				samples <- all
				return
			}
		}
	}()
	return func() (early, late float64) {
		close(done)
		all := <-samples
		return mean(all[len(all)/4 : len(all)/2]), mean(all[len(all)*3/4:])
	}
}

func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func (s sysbench) call(ctx context.Context, args []string) ([]byte, error) {
	path, err := exec.LookPath("sysbench")
	if err != nil {
		return nil, errNoSysbench
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sysbench %s on %s: %w: %s", strings.Join(args, " "), s.server.Name, err, lastLines(append(out, stderr.Bytes()...), 8))
	}
	return out, nil
}

// lastLines of what a program wrote.
func lastLines(b []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))
}

var (
	sysbenchTransactions = regexp.MustCompile(`transactions:\s+\d+\s+\(([0-9.]+) per sec\.\)`)
	sysbenchQueries      = regexp.MustCompile(`queries:\s+(\d+)\s+\(([0-9.]+) per sec\.\)`)
	sysbenchErrors       = regexp.MustCompile(`ignored errors:\s+(\d+)`)
	sysbenchP95          = regexp.MustCompile(`95th percentile:\s+([0-9.]+)`)
)

// parseSysbench takes the figures out of a report; queries is how many there were in all.
func parseSysbench(report []byte) (r sysbenchRun, queries float64, err error) {
	number := func(re *regexp.Regexp, group int) float64 {
		m := re.FindSubmatch(report)
		if m == nil {
			err = errors.Join(err, fmt.Errorf("sysbench: no %q in its report: %s", re, lastLines(report, 20)))
			return 0
		}
		v, e := strconv.ParseFloat(string(m[group]), 64)
		err = errors.Join(err, e)
		return v
	}
	r = sysbenchRun{
		Transactions: number(sysbenchTransactions, 1), Queries: number(sysbenchQueries, 2),
		Errors: int64(number(sysbenchErrors, 1)), P95: number(sysbenchP95, 1),
	}
	return r, number(sysbenchQueries, 1), err
}
