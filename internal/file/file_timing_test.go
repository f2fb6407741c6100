package file

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
)

// BenchmarkReadPage reads 16 KiB pages at random with O_DIRECT: the misses of a cold pool. Set TMPDIR to the disk to be
// measured.
func BenchmarkReadPage(b *testing.B) {
	const pageSize, pages = 16384, 65536
	f, err := OS.OpenFile(filepath.Join(b.TempDir(), "data"), ReadWrite|Create|Direct, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	chunk := AlignedBuf(1 << 20)
	for off := int64(0); off < pages*pageSize; off += int64(len(chunk)) {
		if _, err := f.WriteAt(chunk, off); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	for _, way := range []string{"ring", "pread"} {
		for _, readers := range []int{1, 2, 4, 32} {
			b.Run(fmt.Sprintf("%s/readers=%d", way, readers), func(b *testing.B) {
				if of := f.(*osFile); way == "pread" {
					of.ring = nil
				} else if of.ring = theRing(); of.ring == nil {
					b.Skip(RingError())
				}
				b.ReportAllocs()
				b.SetBytes(pageSize)
				var wg sync.WaitGroup
				for r := range readers {
					wg.Go(func() {
						buf, rng := AlignedBuf(pageSize), rand.New(rand.NewPCG(uint64(r), 0))
						for range b.N / readers {
							if _, err := f.ReadAt(buf, rng.Int64N(pages)*pageSize); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			})
		}
	}
}
