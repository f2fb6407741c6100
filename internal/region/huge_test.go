package region

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
)

// hugeMapped is how much of the frames is mapped by huge pages, in bytes.
func hugeMapped(t *testing.T, r *Region) (sum int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	ours := false
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 5 && strings.Contains(f[0], "-"):
			ours = f[5] == r.Path()
		case ours && f[0] == "ShmemPmdMapped:":
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += kib << 10
		}
	}
	return sum
}

// Huge pages are made of all that is reserved, with every byte as it was, and the next life has them.
func TestCollapse(t *testing.T) {
	const frames = (2*collapseAtOnce + 3) * hugePage / page.Size
	cfg, _ := testConfig(t, frames+1) // and a bit that is too small for one
	live(t, cfg)
	r, _ := mustOpen(t, cfg)
	made := r.Collapse(t.Context())
	if made == 0 {
		t.Skip("this kernel, or this mount, makes no huge pages")
	}
	if want := frames * page.Size / hugePage; made > want {
		t.Errorf("%d huge pages, want %d", made, want)
	} else if made < want {
		t.Logf("%d huge pages of %d: this machine has no more memory that lies together", made, want)
	}
	for f := range 10 {
		checkFilled(t, r, f)
	}
	if got, want := heldBytes(t, r), wantedBytes(r); isMemory(t, cfg.Dir) && got != want {
		t.Errorf("file holds %d bytes, want %d", got, want)
	}
	mustClose(t, r)
	r, _ = mustOpen(t, cfg)
	var touched byte
	for f := range r.Frames() {
		touched |= r.Page(f)[0]
	}
	if touched == 0 {
		t.Error("all frames begin with zeroes, want what live put there")
	}
	if got := hugeMapped(t, r); got < int64(made)*hugePage {
		t.Errorf("%d MiB of the next life are mapped by huge pages, want %d", got>>20, made*hugePage>>20)
	}
	checkFilled(t, r, 0)
	mustClose(t, r)
}

// What is reserved behind the start is huge pages from the beginning, where they fit: all zero, none to collapse, and a pool that
// shrinks gives back all that is not whole any more. Small pages are what one gets who wants them.
func TestReserveHuge(t *testing.T) {
	const first, count = 10, 3*backgroundChunk + 5
	cfg, _ := testConfig(t, count)
	if !isMemory(t, cfg.Dir) {
		t.Skip("memory-dir is not a tmpfs")
	}
	cfg.FirstFrames = first
	for _, small := range []bool{false, true} {
		cfg.SmallPages = small
		r, _ := mustOpen(t, cfg)
		for r.Reserved() < count {
			if _, err := r.ReserveMore(); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := heldBytes(t, r), wantedBytes(r); got != want {
			t.Errorf("small %v: file holds %d bytes, want %d", small, got, want)
		}
		// Each chunk begins and ends within a huge page, which is left to Collapse.
		got, want := hugeMapped(t, r), int64(3*(backgroundChunk*page.Size-hugePage))
		switch {
		case small && got != 0:
			t.Errorf("%d MiB are huge pages, want none", got>>20)
		case !small && got == 0:
			t.Log("this kernel makes no huge pages")
		case got > want:
			t.Errorf("%d MiB are huge pages, want %d", got>>20, want>>20)
		case !small && got < want:
			t.Logf("%d MiB of %d are huge pages: this machine has no more memory that lies together", got>>20, want>>20)
		}
		for f := range count {
			if *r.Page(f) != (page.Page{}) {
				t.Fatalf("small %v: frame %d is not zero", small, f)
			}
		}
		if err := r.Resize(first + backgroundChunk + 3); err != nil {
			t.Fatal(err)
		}
		if got, want := heldBytes(t, r), wantedBytes(r); got != want {
			t.Errorf("small %v, shrunk: file holds %d bytes, want %d", small, got, want)
		}
		if err := r.Remove(); err != nil {
			t.Fatal(err)
		}
		mustClose(t, r)
	}
}
