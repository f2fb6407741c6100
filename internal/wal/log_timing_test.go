package wal

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
)

// diskConfig is a log on the disk under TMPDIR.
func diskConfig(b *testing.B, ringBytes int) Config {
	dir, err := os.MkdirTemp("", "wal")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	ring := file.AlignedBuf(ringBytes)
	clear(ring)
	return Config{FS: file.OS, Dir: dir, UUID: testUUID, Ring: ring, Incarnation: 1, Start: FirstLSN}
}

// What Append itself costs: a ring that never fills before the writer has passed.
func BenchmarkAppend(b *testing.B) {
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l := mustOpen(b, diskConfig(b, 64<<20))
			body := bodyFor(1, 270)
			var wg sync.WaitGroup
			var next atomic.Int64
			b.SetBytes(int64(groupSize(len(body))))
			b.ResetTimer()
			for range workers {
				wg.Go(func() {
					for next.Add(100) <= int64(b.N)+100 {
						for range 100 {
							if end, _, _ := l.Append(body); end%(1<<16) == 0 {
								l.SetKeep(l.Durable())
							}
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(l.Stats().RingFull), "ringfull")
			mustClose(b, l)
		})
	}
}

// What a commit costs, and how many share a sync.
func BenchmarkCommit(b *testing.B) {
	for _, workers := range []int{1, 2, 4, 16, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l := mustOpen(b, diskConfig(b, 64<<20))
			body := bodyFor(1, 270)
			var wg sync.WaitGroup
			var next atomic.Int64
			b.ResetTimer()
			for range workers {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						_, end, _ := l.Append(body)
						l.WaitDurable(context.Background(), end)
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			st := l.Stats()
			b.ReportMetric(float64(b.N)/float64(st.Syncs), "commits/sync")
			b.ReportMetric(float64(st.SyncTime.Microseconds())/float64(st.Syncs), "µs/sync")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			mustClose(b, l)
		})
	}
}

// What the disk takes when nobody waits: bytes of groups of 4 KiB through a ring of 64 MiB, durable at the end.
func BenchmarkStream(b *testing.B) {
	l := mustOpen(b, diskConfig(b, 64<<20))
	body := bodyFor(1, 4000)
	b.SetBytes(int64(groupSize(len(body))))
	b.ResetTimer()
	for i := range b.N {
		_, end, _ := l.Append(body)
		if i%1000 == 0 {
			l.SetKeep(end - min(end, 256<<20))
		}
	}
	mustWait(b, l, l.Tail())
	b.StopTimer()
	st := l.Stats()
	b.ReportMetric(float64(st.WrittenBytes)/float64(st.Writes), "B/write")
	b.ReportMetric(float64(st.SegmentWaits), "segwaits")
	mustClose(b, l)
}

func BenchmarkIndex(b *testing.B) {
	n := newNotes(0)
	body := bodyFor(1, 100)
	for b.Loop() {
		n.add(FirstLSN, body)
		if len(n.seen) > 1<<20 {
			n = newNotes(0)
		}
	}
}
