package region

import (
	"testing"

	"github.com/hearthdb/hearth/internal/page"
)

// BenchmarkDescChange is what a changed page pays: Begin, the new LSN, End.
func BenchmarkDescChange(b *testing.B) {
	cfg, _ := testConfig(b, 1000)
	r, err := Plain(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	for i := range b.N {
		d := r.Desc(i & 511)
		d.Begin()
		d.LSN.Store(uint64(i))
		d.End(i & 511)
	}
}

func BenchmarkPage(b *testing.B) {
	cfg, _ := testConfig(b, 1000)
	r, err := Plain(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var sum int
	for i := range b.N {
		sum += int(r.Page(i & 511)[0])
	}
	_ = sum
}

func BenchmarkSetDurable(b *testing.B) {
	cfg, _ := testConfig(b, 1000)
	r, _ := mustOpen(b, cfg)
	b.ReportAllocs()
	for i := range b.N {
		r.SetDurable(page.LSN(i))
	}
}

// BenchmarkAttach10GiB opens a region of 655,360 frames and scans it: what a restart waits for. Only the
// first frames are reserved, since neither looks at the others; their descriptors are all there.
func BenchmarkAttach10GiB(b *testing.B) {
	const frames = 655360
	cfg, _ := testConfig(b, frames)
	cfg.FirstFrames = 1000
	b.Run("create", func(b *testing.B) {
		for range b.N {
			r, _ := mustOpen(b, cfg)
			r.Remove()
			r.Close()
		}
	})
	b.Run("scan", func(b *testing.B) {
		r, _ := mustOpen(b, cfg)
		for range b.N {
			b.StopTimer()
			// Mapped anew, the pages fault as after a restart.
			if err := r.mem.unmap(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if err := r.mapFor(frames, cfg.RingBytes); err != nil {
				b.Fatal(err)
			}
			var found [2]int
			Scan(r, 2, func(worker, _ int, f Finding) {
				if f.Condition == Whole {
					found[worker]++
				}
			})
			if found[0]+found[1] != frames {
				b.Fatalf("%v whole descriptors, want %d", found, frames)
			}
		}
	})
}
