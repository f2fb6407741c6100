package replay

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// BlindAfter is how old the last proof that the target is a standby may be (rule 5). It is asked every WatchEvery.
const (
	BlindAfter = 1500 * time.Millisecond
	WatchEvery = 500 * time.Millisecond
)

// watch asks the target again and again whether it may still be replayed to.
type watch struct {
	t         *target
	confirmed atomic.Int64 // Unix nanoseconds of the question that was answered well last; 0: the gate is shut

	mu         sync.Mutex
	closed     string // why nothing may be sent, "" when it may
	seen       bool   // the target was once not writable
	running    float64
	lag        float64 // seconds of the target's own replication, -1: none
	residency  time.Duration
	readsBase  float64
	readsSince time.Time
}

// open: a statement may leave now.
func (w *watch) open(now time.Time) bool {
	c := w.confirmed.Load()
	return c != 0 && now.UnixNano()-c < int64(BlindAfter)
}

// Reasons for a shut gate.
const (
	reasonPromoted = "promoted: the target is not read-only"
	reasonReplaced = "another server answers at the target's address"
)

// look asks once. It returns why the gate is shut, "" when it is open; err when the target did not answer.
func (w *watch) look(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, BlindAfter)
	defer cancel()
	asked := time.Now()
	v, err := readVariables(ctx, w.t.db, wanted)
	if err != nil {
		return "", err
	}
	why := ""
	w.mu.Lock()
	switch may := !writable(v); {
	case !identityOf(v).same(w.t.identity):
		why = reasonReplaced
	case may:
		w.seen = true
	case w.seen || !w.t.cfg.MayWrite:
		why = reasonPromoted
	}
	w.closed = why
	w.mu.Unlock()
	if why != "" {
		w.confirmed.Store(0)
	} else {
		w.confirmed.Store(asked.UnixNano())
	}
	return why, nil
}

// why nothing may be sent; "" when it may.
func (w *watch) why() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// kill ends statements that are under way on the target, and those that were sent behind them, with their connections.
func (w *watch) kill(ids []uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, id := range ids {
		w.t.db.ExecContext(ctx, "KILL "+strconv.FormatUint(id, 10)) // it may have ended by itself
	}
}

// load asks how busy the target is. What an account may not see is not known.
func (w *watch) load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, BlindAfter)
	defer cancel()
	status := map[string]float64{}
	rows, err := w.t.db.QueryContext(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN
		('Threads_running', 'Innodb_buffer_pool_pages_total', 'Innodb_pages_read')`)
	if err != nil {
		return
	}
	for rows.Next() {
		var n, v string
		if rows.Scan(&n, &v) == nil {
			status[n], _ = strconv.ParseFloat(v, 64)
		}
	}
	rows.Close()
	lag := replicaLag(ctx, w.t.db, w.t.mariadb)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.lag = status["Threads_running"], lag
	w.estimate(status["Innodb_buffer_pool_pages_total"], status["Innodb_pages_read"], time.Now())
}

// Bounds of how long a page is taken to stay in the target's pool.
const (
	minResidency  = 2 * time.Second
	mostResidency = 10 * time.Minute
)

// estimate how long a page stays: half the time in which the pool would be filled once at the present rate of reads.
func (w *watch) estimate(pages, reads float64, now time.Time) {
	if pages == 0 {
		return
	}
	if passed := now.Sub(w.readsSince).Seconds(); !w.readsSince.IsZero() && passed > 0 && reads >= w.readsBase {
		rate := max((reads-w.readsBase)/passed, 1e-3)
		w.residency = min(max(time.Duration(min(pages/rate/2, mostResidency.Seconds())*float64(time.Second)), minResidency), mostResidency)
	}
	w.readsBase, w.readsSince = reads, now
}

// replicaLag is how many seconds the target's applier is behind; -1 when it has none or we may not ask.
func replicaLag(ctx context.Context, db *sql.DB, mariadb bool) float64 {
	for _, q := range []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"} {
		rows, err := db.QueryContext(ctx, q)
		if err != nil {
			continue
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil || !rows.Next() {
			return -1
		}
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if rows.Scan(into...) != nil {
			return -1
		}
		for i, c := range columns {
			if c == "Seconds_Behind_Master" || c == "Seconds_Behind_Source" {
				if lag, err := strconv.ParseFloat(values[i].String, 64); err == nil {
					return lag
				}
			}
		}
		return -1
	}
	return -1
}

// Distress of the target above which less is sent.
const (
	maxOthersRunning = 48 // statements of others than us
	maxReplicaLag    = 10 // seconds
)

// distress: the target has more to do than is good for it.
func (w *watch) distress(inflight int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running-float64(inflight) > maxOthersRunning || w.lag > maxReplicaLag
}

func (w *watch) describe() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed != "":
		return w.closed
	case !w.open(time.Now()):
		return "blind: the target does not answer"
	case w.lag >= 0:
		return fmt.Sprintf("open, replica lag %.0f s", w.lag)
	}
	return "open"
}
