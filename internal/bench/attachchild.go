package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth"
)

const (
	// attachLogTimes is the configured log size in units of the log to be left behind,
	// large enough that continuous checkpointing sees no reason to shorten it.
	attachLogTimes = 8
	// attachBatch is how many rows one transaction of the fill overwrites.
	attachBatch = 100
	// attachLook is how many transactions pass between two looks at what is dirty.
	attachLook = 100
	// attachFill is the part of the pool that the table takes.
	attachFill = 0.8
)

// attachRows is the table that fills a pool.
func attachRows(pool int64) rows {
	return rows{n: int(float64(pool) * attachFill / (keySize + valueSize))}
}

func (o attachOrder) open(ctx context.Context) (*hearth.DB, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	return hearth.Open(ctx, o.Dir, &hearth.Options{
		PoolSize: o.Pool, MemoryDir: o.Memory, Memory: hearth.MemoryRequire,
		LogSize: max(attachLogTimes*o.Log, hearth.DefaultLogSize), Durability: hearth.DurabilityProcess,
		Logger: warnings,
	})
}

// writer overwrites random rows of as many pages as are to be dirty.
type writer struct {
	db   *hearth.DB
	rows rows
	part int // only rows below this one
	rnd  *rand.Rand
}

// newWriter relies on rows being neighbours on pages: a part of the rows is the same part
// of the pages, which are all in the pool.
func newWriter(db *hearth.DB, order attachOrder) *writer {
	r, pool := attachRows(order.Pool), db.Stats().Pool
	part := float64(r.n) * float64(order.Dirty) / float64(pool.Frames-pool.Free)
	return &writer{db, r, min(r.n, int(part)), newRand(order.Seed, int(order.Started))}
}

// write commits one transaction.
func (w *writer) write(ctx context.Context) error {
	return w.db.Update(ctx, func(tx *hearth.Tx) error {
		tree, err := tx.Tree(hearthTree)
		if err != nil {
			return err
		}
		key, value := make([]byte, keySize), make([]byte, valueSize)
		for range attachBatch {
			i := w.rnd.IntN(w.part)
			if err := tree.Put(w.rows.key(key, i), w.rows.value(value, i, w.rnd.Uint64())); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillForAttach fills the pool with a table, writes it back, and then overwrites rows
// until enough frames are dirty and enough log is written.
func fillForAttach(ctx context.Context, order attachOrder, tell func(attachFound)) (*writer, error) {
	db, err := order.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := loadTree(ctx, db, hearthTree, attachRows(order.Pool)); err != nil {
		return nil, err
	}
	if err := db.Checkpoint(ctx); err != nil {
		return nil, err
	}
	w, told := newWriter(db, order), time.Now()
	tell(attachFound{Progress: fmt.Sprintf("%d rows loaded", w.rows.n)})
	for {
		s := db.Stats()
		found := attachFound{Dirty: s.Pool.Dirty, Log: s.CheckpointAge}
		if found.Dirty >= order.Dirty && found.Log >= order.Log {
			if found.Anonymous, err = anonymousMemory("self"); err != nil {
				return nil, err
			}
			found.Ready = true
			tell(found)
			return w, nil
		}
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			tell(attachFound{Progress: fmt.Sprintf("%d frames dirty, %d MiB of log", found.Dirty, found.Log>>20)})
		}
		for range attachLook {
			if err := w.write(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// probeAttach opens what the killed process left and reads one row.
func probeAttach(ctx context.Context, order attachOrder, tell func(attachFound)) (*writer, error) {
	since := func() float64 { return float64(time.Now().UnixNano()-order.Started) / 1e6 }
	db, err := order.open(ctx)
	if err != nil {
		return nil, err
	}
	found := attachFound{Ready: true, OpenMs: since()}
	r := attachRows(order.Pool)
	i := newRand(order.Seed, int(order.Started)).IntN(r.n)
	err = db.View(ctx, func(tx *hearth.Tx) error {
		v, err := getRow(tx, hearthTree, r.key(make([]byte, keySize), i), nil)
		if err != nil {
			return err
		}
		return r.check(v, i)
	})
	if err != nil {
		return nil, err
	}
	found.FirstMs = since()
	report := db.StartReport()
	if report.Kind != hearth.StartCrashRegion {
		return nil, fmt.Errorf("the start was %q, not one after a crash with its memory kept", report.Kind)
	}
	found.Start = report.String()
	tell(found)
	return newWriter(db, order), nil
}

// anonymousMemory is the resident memory of a process, or of "self", that is neither a file nor the
// region, which counts as shared memory.
func anonymousMemory(process string) (int64, error) {
	name := "/proc/" + process + "/status"
	status, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no RssAnon", name)
}
