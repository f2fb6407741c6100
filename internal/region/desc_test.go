package region

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/hearthdb/hearth/internal/page"
)

func readyDesc(frame int) *Desc {
	d := new(Desc)
	d.reset(frame)
	d.Begin()
	d.SetID(frame, 7<<32|9)
	d.LSN.Store(8192)
	d.First.Store(4096)
	d.State.Store(StateReady)
	d.End(frame)
	d.Heat.Store(3)
	return d
}

func TestDescWhole(t *testing.T) {
	d := readyDesc(5)
	want := Finding{Condition: Whole, State: StateReady, Heat: 3, ID: 7<<32 | 9, LSN: 8192, First: 4096}
	if got := d.Examine(5); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if got := d.Examine(6).Condition; got != Damaged {
		t.Fatalf("in another frame: got %v, want damaged", got)
	}
	d.Heat.Store(99)
	if got := d.Examine(5).Condition; got != Whole {
		t.Fatalf("heat changed: got %v, want whole", got)
	}
}

func TestDescZeroIsDamaged(t *testing.T) {
	if got := new(Desc).Examine(0).Condition; got != Damaged {
		t.Fatalf("got %v, want damaged: a zeroed descriptor may have named a dirty page", got)
	}
}

func TestDescTorn(t *testing.T) {
	d := readyDesc(5)
	d.Begin()
	d.LSN.Store(1 << 40)
	d.First.Store(123)
	d.State.Store(77)
	if got, want := d.Examine(5), (Finding{Condition: Torn, Heat: 3, ID: 7<<32 | 9}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

// A death between any two stores of SetID leaves the old id or the new.
func TestDescTornWhileNamed(t *testing.T) {
	const old, renamed = page.ID(7<<32 | 9), page.ID(1<<32 | 2)
	sum := idSumOf(5, uint64(renamed))
	steps := []func(*Desc){
		func(d *Desc) { d.spareID = uint64(renamed) },
		func(d *Desc) { d.spareSum = sum },
		func(d *Desc) { d.ID.Store(uint64(renamed)) },
		func(d *Desc) { d.idSum = sum },
	}
	wants := []page.ID{old, old, old, renamed, renamed}
	for n := range len(steps) + 1 {
		d := readyDesc(5)
		d.Begin()
		for _, step := range steps[:n] {
			step(d)
		}
		if got, want := d.Examine(5), (Finding{Condition: Torn, Heat: 3, ID: wants[n]}); got != want {
			t.Errorf("after %d stores: got %+v, want %+v", n, got, want)
		}
	}
}

func TestDescBadState(t *testing.T) {
	d := readyDesc(5)
	d.Begin()
	d.State.Store(StateUnverified + 1)
	d.End(5)
	if got := d.Examine(5).Condition; got != Damaged {
		t.Fatalf("got %v, want damaged", got)
	}
}

// Flipped bits: the descriptor is damaged, or torn with the right id. Only the heat may change unseen.
func TestDescFlips(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for bit := range DescSize * 8 {
		checkFlips(t, bit, bit)
		for range 20 {
			checkFlips(t, bit, rnd.IntN(DescSize*8))
		}
	}
}

func checkFlips(t *testing.T, bits ...int) {
	t.Helper()
	for _, torn := range []bool{false, true} {
		d := readyDesc(5)
		if torn {
			d.Begin()
		}
		want := d.Examine(5)
		b := unsafe.Slice((*byte)(unsafe.Pointer(d)), DescSize)
		b[bits[0]/8] ^= 1 << (bits[0] % 8)
		if bits[1] != bits[0] {
			b[bits[1]/8] ^= 1 << (bits[1] % 8)
		}
		got := d.Examine(5)
		if got.Condition == Damaged {
			continue
		}
		if got.ID != want.ID {
			t.Errorf("bits %v, torn %v: %v with id %d, want %d", bits, torn, got.Condition, got.ID, want.ID)
		}
		got.Heat = want.Heat
		if got.Condition == Whole && !torn && got != want {
			t.Errorf("bits %v: whole with %+v, want %+v", bits, got, want)
		}
	}
}

func TestDescBeginTwice(t *testing.T) {
	defer wantBug(t, "begins twice")
	d := readyDesc(5)
	d.Begin()
	d.Begin()
}

func TestDescEndWithoutBegin(t *testing.T) {
	defer wantBug(t, "without a beginning")
	readyDesc(5).End(5)
}

func wantBug(t *testing.T, what string) {
	t.Helper()
	got, _ := recover().(string)
	if !strings.HasPrefix(got, "BUG: ") || !strings.Contains(got, what) {
		t.Errorf("panic says %q, want BUG: ... %s", got, what)
	}
}
