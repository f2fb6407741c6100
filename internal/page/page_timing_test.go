package page

import (
	"math/rand/v2"
	"testing"
)

// coldPages are more than any cache holds: 256 MiB.
const coldPages = 16384

// BenchmarkVerifyCold is what the first touch of a survivor costs: a page that no cache has.
func BenchmarkVerifyCold(b *testing.B) {
	pages := make([]Page, coldPages)
	for i := range pages {
		pages[i].SetID(MakeID(1, uint32(i)))
		pages[i].InitSlotted(KindLeaf, 0, nil, false, nil, false)
		pages[i].Stamp()
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(coldPages)
	b.SetBytes(Size)
	for i := 0; b.Loop(); i++ {
		n := order[i%coldPages]
		if err := pages[n].Verify(MakeID(1, uint32(n))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyWarm is the same for a page that has just been read.
func BenchmarkVerifyWarm(b *testing.B) {
	p := newLeaf(nil, nil)
	p.Stamp()
	b.SetBytes(Size)
	for b.Loop() {
		if err := p.Verify(p.ID()); err != nil {
			b.Fatal(err)
		}
	}
}
