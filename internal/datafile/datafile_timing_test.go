package datafile

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

const timingPages = 16384 // 256 MiB

func timingSet(b *testing.B) *Set {
	s := openSet(b, file.OS, b.TempDir())
	must(b, s.Create(1))
	var batch []Write
	for no := range uint32(timingPages) {
		batch = append(batch, writes(1, page.MakeID(1, no))...)
		if len(batch) == 2*maxBatch {
			must(b, s.WritePages(ctx, batch))
			batch = batch[:0]
		}
	}
	return s
}

// BenchmarkReadPage is a miss, less what the pool adds: 32 goroutines, O_DIRECT. file.BenchmarkReadPage is the same
// without this package.
func BenchmarkReadPage(b *testing.B) {
	const readers = 32
	s := timingSet(b)
	b.SetBytes(page.Size)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for r := range readers {
		wg.Go(func() {
			p, rng := newPage(), rand.New(rand.NewPCG(uint64(r), 0))
			for range b.N / readers {
				if err := s.ReadPage(ctx, page.MakeID(1, rng.Uint32N(timingPages)), p, ClassMiss); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
}

// BenchmarkWritePages writes full batches of pages spread over a file, from two goroutines, as write-back does.
func BenchmarkWritePages(b *testing.B) {
	const writers = 2
	s := timingSet(b)
	b.SetBytes(page.Size)
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range uint32(writers) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 0))
			pages := writes(2, make([]page.ID, maxBatch)...)
			for range b.N / writers / maxBatch {
				for i := range pages {
					// One page out of each stretch, and never one of the other writer's.
					const stretch = timingPages / maxBatch
					pages[i].ID = page.MakeID(1, uint32(i)*stretch+rng.Uint32N(stretch/writers)*writers+w)
					pages[i].Page.SetID(pages[i].ID)
					pages[i].Page.Stamp()
				}
				if err := s.WritePages(ctx, pages); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
