package server

import (
	"bufio"
	"context"
	"io"
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/iters"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/rowexec"
)

// memoryGuard keeps statements from taking all memory: GMS sorts, groups and joins in memory, without a limit of its own. There are
// three bounds, each for what the one before does not see. Whoever runs into one gets error 1038; the server lives on.
//
//  1. What a statement is known to hold is counted: rows that go into a sort, a window, a hash join or a cache for a join's inner
//     side, and rows kept for a cursor. All of them that are being filled may hold perStatement bytes together. The table of a hash
//     join is not counted any more once it is filled: GMS does not say when it lets go of it.
//  2. Caches of GMS (DISTINCT, GROUP BY, subqueries, cached results) ask before each entry whether the process has memory left.
//  3. When the process has held more than limit for several looks in a row, the statement with the most counted bytes is ended.
//
// A single value that is too large for the machine is seen by none of them; the functions that make one are bounded by
// max_allowed_packet, as in MySQL.
type memoryGuard struct {
	limit        int64 // bytes of the Go heap
	perStatement int64
	live         atomic.Int64 // bytes that the last garbage collection found in use
	manager      *gms.MemoryManager
	builder      gms.NodeExecBuilder
}

// memoryLook is how often the guard looks; memoryPatience how many looks above the limit are one too many.
const (
	memoryLook     = 100 * time.Millisecond
	memoryPatience = 3
)

const heapLive = "/gc/heap/live:bytes"

func newMemoryGuard(limit, perStatement int64) *memoryGuard {
	g := &memoryGuard{limit: limit, perStatement: perStatement}
	g.manager = gms.NewMemoryManager(g)
	g.builder = rowexec.NewOverrideBuilder(g)
	return g
}

// MaxMemory implements gms.Reporter.
func (g *memoryGuard) MaxMemory() uint64 { return uint64(g.limit) }

// UsedMemory implements gms.Reporter. It is one atomic load: GMS asks for every entry of a cache.
func (g *memoryGuard) UsedMemory() uint64 { return uint64(g.live.Load()) }

// watch looks at the heap until ctx ends.
func (g *memoryGuard) watch(ctx context.Context, running func() []*statement) {
	tick := time.NewTicker(memoryLook)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: heapLive}}
	above := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		live := int64(sample[0].Value.Uint64())
		g.live.Store(live)
		if live <= g.limit {
			above = 0
			continue
		}
		if above++; above < memoryPatience {
			continue
		}
		above = 0
		if st := largest(running()); st != nil {
			st.end(errMemory)
		}
	}
}

// largest statement by what is known of it, and of those nothing is known of, the oldest.
func largest(running []*statement) (most *statement) {
	for _, st := range running {
		switch {
		case most == nil, st.memory.Load() > most.memory.Load():
			most = st
		case st.memory.Load() == most.memory.Load() && st.began.Before(most.began):
			most = st
		}
	}
	return most
}

// Build implements gms.NodeExecBuilder. It builds nothing, but puts meters under the nodes that keep what they read. A plan is
// built for one statement.
func (g *memoryGuard) Build(ctx *gms.Context, n gms.Node, _ gms.Row) (gms.RowIter, error) {
	switch n := n.(type) {
	case *plan.Sort:
		n.Child = g.meter(n.Child, math.MaxInt64)
	case *plan.TopN:
		limit, err := iters.GetInt64Value(ctx, n.Limit)
		if err != nil {
			return nil, err
		}
		n.Child = g.meter(n.Child, limit)
	case *plan.Window:
		n.Child = g.meter(n.Child, math.MaxInt64)
	case *plan.HashLookup:
		n.Child = g.meter(n.Child, math.MaxInt64)
	case *plan.CachedResults:
		n.Child = g.meter(n.Child, math.MaxInt64)
	}
	return nil, nil
}

// meter the node for one that keeps most of its rows.
func (g *memoryGuard) meter(n gms.Node, most int64) gms.Node {
	if _, ok := n.(*meter); ok {
		return n
	}
	return &meter{Node: n, guard: g, most: most}
}

// meter counts the rows of the node below it for the statement.
type meter struct {
	gms.Node
	guard *memoryGuard
	most  int64 // rows
}

var _ gms.ExecSourceRel = (*meter)(nil)

// Children implements gms.Node: what is done to all of a plan at its end is done below, too.
func (m *meter) Children() []gms.Node { return []gms.Node{m.Node} }

// WithChildren implements gms.Node.
func (m *meter) WithChildren(children ...gms.Node) (gms.Node, error) {
	if len(children) != 1 {
		return nil, gms.ErrInvalidChildrenNumber.New(m, len(children), 1)
	}
	return m.guard.meter(children[0], m.most), nil
}

// RowIter implements gms.ExecSourceRel.
func (m *meter) RowIter(ctx *gms.Context, row gms.Row) (gms.RowIter, error) {
	rows, err := m.guard.builder.Build(ctx, m.Node, row)
	if err != nil {
		return nil, err
	}
	st := statementOf(ctx)
	if st == nil {
		return rows, nil
	}
	return &meteredRows{RowIter: rows, meter: m, st: st}, nil
}

type meteredRows struct {
	gms.RowIter
	meter *meter
	st    *statement
	rows  int64
	held  int64 // bytes
}

func (r *meteredRows) Next(ctx *gms.Context) (gms.Row, error) {
	row, err := r.RowIter.Next(ctx)
	if err != nil {
		return nil, err
	}
	if r.rows++; r.rows > r.meter.most {
		return row, nil
	}
	size := rowSize(row)
	r.held += size
	if r.st.memory.Add(size) > r.meter.guard.perStatement {
		return nil, errMemory
	}
	return row, nil
}

// Close lets go of what was counted. Sorts and windows close what they read when they are closed themselves.
func (r *meteredRows) Close(ctx *gms.Context) error {
	r.st.memory.Add(-r.held)
	r.held = 0
	return r.RowIter.Close(ctx)
}

// rowSize estimates the bytes of a row in memory.
func rowSize(row gms.Row) int64 {
	const box = 16 // of a value that is not a string
	size := int64(unsafe.Sizeof(row)) + int64(len(row))*int64(unsafe.Sizeof(any(nil)))
	for _, v := range row {
		switch v := v.(type) {
		case nil:
		case string:
			size += box + int64(len(v))
		case []byte:
			size += 2*box + int64(len(v))
		default:
			size += box
		}
	}
	return size
}

// defaultMemory is half of what the machine, or the control group the process is in, has beyond the pool.
func defaultMemory(pool int64) int64 {
	const least = 512 << 20
	return max(least, (machineMemory()-pool)/2)
}

// machineMemory in bytes, 0 if it cannot be told.
func machineMemory() int64 {
	total := int64(0)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if kb, ok := strings.CutPrefix(sc.Text(), "MemTotal:"); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
				total = n << 10
				break
			}
		}
	}
	if f, err := os.Open("/sys/fs/cgroup/memory.max"); err == nil {
		defer f.Close()
		b, _ := io.ReadAll(io.LimitReader(f, 64))
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}
