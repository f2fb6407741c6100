package bench

import (
	"context"
	"fmt"
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

// fillForAttach fills the pool with a table, writes it back, and then overwrites random
// rows until enough frames are dirty and enough log is written.
func fillForAttach(ctx context.Context, order attachOrder, tell func(attachFound)) error {
	db, err := order.open(ctx)
	if err != nil {
		return err
	}
	r := attachRows(order.Pool)
	if err := loadTree(ctx, db, hearthTree, r); err != nil {
		return err
	}
	if err := db.Checkpoint(ctx); err != nil {
		return err
	}
	tell(attachFound{Progress: fmt.Sprintf("%d rows loaded", r.n)})

	rnd, told := newRand(order.Seed, 0), time.Now()
	key, value := make([]byte, keySize), make([]byte, valueSize)
	for {
		s := db.Stats()
		found := attachFound{Dirty: s.Pool.Dirty, Log: int64(s.CheckpointAge)}
		if found.Dirty >= order.Dirty && found.Log >= order.Log {
			if found.Anonymous, err = anonymousMemory(); err != nil {
				return err
			}
			found.Ready = true
			tell(found)
			return nil
		}
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			tell(attachFound{Progress: fmt.Sprintf("%d frames dirty, %d MiB of log", found.Dirty, found.Log>>20)})
		}
		for range 100 {
			err := db.Update(ctx, func(tx *hearth.Tx) error {
				tree, err := tx.Tree(hearthTree)
				if err != nil {
					return err
				}
				for range attachBatch {
					i := rnd.IntN(r.n)
					if err := tree.Put(r.key(key, i), r.value(value, i, rnd.Uint64())); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
}

// probeAttach opens what the killed process left and reads one row.
func probeAttach(ctx context.Context, order attachOrder, tell func(attachFound)) error {
	since := func() float64 { return float64(time.Now().UnixNano()-order.Started) / 1e6 }
	db, err := order.open(ctx)
	if err != nil {
		return err
	}
	found := attachFound{Ready: true, OpenMs: since()}
	r := attachRows(order.Pool)
	i := newRand(uint64(order.Started), 0).IntN(r.n)
	err = db.View(ctx, func(tx *hearth.Tx) error {
		v, err := getRow(tx, hearthTree, r.key(make([]byte, keySize), i), nil)
		if err != nil {
			return err
		}
		return r.check(v, i)
	})
	if err != nil {
		return err
	}
	found.FirstMs = since()
	tell(found)
	return nil
}

// anonymousMemory is the resident memory of this process that is neither a file nor the
// region, which counts as shared memory.
func anonymousMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no RssAnon")
}
