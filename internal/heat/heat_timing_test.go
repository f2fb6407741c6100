package heat

import (
	"math/rand/v2"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
)

// BenchmarkHottest sorts what a pool of 64 GiB holds; longest-us is how long it kept others waiting at most.
func BenchmarkHottest(b *testing.B) {
	const pages = 64 << 30 / page.Size
	order := rand.New(rand.NewPCG(1, 1)).Perm(pages)
	longest := 0.0
	for b.Loop() {
		b.StopTimer()
		s := new(snapshot)
		for _, no := range order {
			s.add(no%8/7+4, id(16, uint32(no))) // most are in one band
		}
		b.StartTimer()
		s.breath = newBreath()
		if _, ids := s.hottest(pages); len(ids) == 0 {
			b.Fatal("no pages")
		}
		s.end()
		longest = max(longest, float64(s.longest.Microseconds()))
	}
	b.ReportMetric(longest, "longest-us")
}
