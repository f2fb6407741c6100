package region

import (
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
)

// Bits of header and descriptors flipped between a death and the next start: never a panic, and what is
// found is right or discarded.
func TestDamageBetweenLives(t *testing.T) {
	const frames, rounds = 64, 300
	cfg, _ := testConfig(t, frames)
	live(t, cfg)
	r, _ := mustOpen(t, cfg)
	path := r.Path()
	mustClose(t, r)
	rnd := rand.New(rand.NewPCG(5, 6))
	var discarded, damaged, torn int
	for round := range rounds {
		undo := flipInFile(t, rnd, path, round%2 == 0)
		r, found, err := Open(cfg)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if found.Fresh {
			discarded++
			checkFree(t, r)
			mustClose(t, r)
			live(t, cfg)
			continue
		}
		want := Found{OldFrames: frames, FramesValid: true, RingValid: true, Durable: 12288, Incarnation: 5, LifeNonce: 77, AttachNonce: 77}
		if found != want {
			t.Errorf("round %d: found %+v, want %+v or nothing", round, found, want)
		}
		for f := range frames {
			switch got := r.Desc(f).Examine(f); got.Condition {
			case Whole:
				checkFilledOrHot(t, f, got)
			case Torn:
				torn++
				if got.ID != page.ID(1<<32|f) {
					t.Errorf("round %d: frame %d torn with id %d", round, f, got.ID)
				}
			case Damaged:
				damaged++
			}
		}
		mustClose(t, r)
		undo()
	}
	t.Logf("of %d rounds %d discarded; descriptors: %d damaged, %d torn", rounds, discarded, damaged, torn)
	if discarded == 0 || damaged == 0 || torn == 0 {
		t.Errorf("of %d rounds %d discarded, %d damaged, %d torn: the test does not reach all", rounds, discarded, damaged, torn)
	}
}

func checkFilledOrHot(t *testing.T, f int, got Finding) {
	t.Helper()
	got.Heat = 0
	want := Finding{Condition: Whole, State: StateReady, ID: page.ID(1<<32 | f), LSN: page.LSN(f)*8 + 4096}
	if got != want {
		t.Errorf("frame %d: got %+v, want %+v", f, got, want)
	}
}

// flipInFile flips up to eight bits of the header or of the descriptors. In the header only bytes that mean
// something; undo puts them back.
func flipInFile(t *testing.T, rnd *rand.Rand, path string, inHeader bool) (undo func()) {
	t.Helper()
	at, n := int64(descOffset), 64*DescSize
	if inHeader {
		at = []int64{0, staticOffset, int64(slotOffsets[0]), int64(slotOffsets[1])}[rnd.IntN(4)]
		n = 24
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	before := append([]byte(nil), b...)
	for range 1 + rnd.IntN(8) {
		b[rnd.IntN(n)] ^= 1 << rnd.IntN(8)
	}
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	return func() { patch(t, path, at, before) }
}

// A file of noise, of any size, is thrown away.
func TestNoise(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	r, _ := mustOpen(t, cfg)
	path := r.Path()
	mustClose(t, r)
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, size := range []int{1, 8, 24, 4096, HeaderBytes, 1 << 20} {
		noise := make([]byte, size)
		for i := range noise {
			noise[i] = byte(rnd.Uint32())
		}
		if size >= 24 {
			copy(noise, magic)
		}
		if err := os.WriteFile(path, noise, 0o600); err != nil {
			t.Fatal(err)
		}
		r, found, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !found.Fresh || found.Why == "" {
			t.Errorf("%d bytes: found %+v", size, found)
		}
		checkFree(t, r)
		mustClose(t, r)
	}
}

func TestScan(t *testing.T) {
	cfg, _ := testConfig(t, 3*scanChunk+5)
	r, err := Plain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for f := 0; f < r.Frames(); f += 1000 {
		d := r.Desc(f)
		d.Begin()
		d.SetID(f, page.ID(f))
		d.State.Store(StateReady)
		if f%2000 == 0 {
			d.End(f)
		}
	}
	for _, workers := range []int{0, 1, 3, 100} {
		seen := make([]atomic.Int32, r.Frames())
		var ready, torn atomic.Int32
		Scan(r, workers, func(_, frame int, f Finding) {
			seen[frame].Add(1)
			switch {
			case f.Condition == Torn:
				torn.Add(1)
			case f.State == StateReady:
				ready.Add(1)
			}
		})
		for f := range seen {
			if n := seen[f].Load(); n != 1 {
				t.Fatalf("%d workers: frame %d seen %d times", workers, f, n)
			}
		}
		if ready.Load() != 7 || torn.Load() != 6 {
			t.Errorf("%d workers: %d ready and %d torn, want 7 and 6", workers, ready.Load(), torn.Load())
		}
	}
}
