package region

import (
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/page"
)

// heldBytes is the memory a region's file takes up.
func heldBytes(t testing.TB, r *Region) int64 {
	t.Helper()
	n, err := r.mem.reservedBytes()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantedBytes(r *Region) int64 {
	return r.mem.roundUp(HeaderBytes+int64(len(r.Ring()))) + r.mem.roundUp(int64(r.Frames())*DescSize) +
		r.mem.roundUp(int64(r.Reserved())*page.Size)
}

func emptyFrom(r *Region, from int) {
	for f := from; f < r.Frames(); f++ {
		d := r.Desc(f)
		d.Begin()
		d.SetID(f, 0)
		d.State.Store(StateFree)
		d.End(f)
	}
}

func TestResize(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	r, _ := mustOpen(t, cfg)
	for _, frames := range []int{100, 300, 129, 64, 1, 100} {
		kept := min(frames, r.Frames())
		before := r.Frames()
		emptyFrom(r, kept)
		if err := r.Resize(frames); err != nil {
			t.Fatal(err)
		}
		for f := before; f < frames; f++ {
			if got := r.Desc(f).Examine(f); got != (Finding{}) {
				t.Fatalf("%d frames: frame %d is %+v, want free", frames, f, got)
			}
			fill(r, f)
		}
		for f := range frames {
			checkFilled(t, r, f)
		}
		if got, want := heldBytes(t, r), wantedBytes(r); isMemory(t, cfg.Dir) && got != want {
			t.Errorf("%d frames: file holds %d bytes, want %d", frames, got, want)
		}
	}
	mustClose(t, r)
	r, found := mustOpen(t, cfg)
	if !found.FramesValid || found.OldFrames != 100 {
		t.Fatalf("found %+v", found)
	}
	checkFilled(t, r, 99)
}

func TestResizeOfFullTail(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	r, _ := mustOpen(t, cfg)
	defer r.Close() // after the panic, with the lock of Resize released
	defer wantBug(t, "want free")
	r.Resize(50)
}

func TestPageOutside(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	r, _ := mustOpen(t, cfg)
	defer wantBug(t, "frame 100 is not within the pool")
	r.Page(100)
}

// The pool is given another size at start.
func TestOpenOtherSize(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	cfg.Frames = 150
	r, found := mustOpen(t, cfg)
	if found.OldFrames != 100 || r.Frames() != 150 {
		t.Fatalf("%d frames, found %+v", r.Frames(), found)
	}
	for f := range 100 {
		checkFilled(t, r, f)
	}
	for f := 100; f < 150; f++ {
		if got := r.Desc(f).Examine(f); got != (Finding{}) {
			t.Fatalf("frame %d is %+v, want free", f, got)
		}
	}
	mustClose(t, r)

	cfg.Frames = 40
	r, found = mustOpen(t, cfg)
	if found.OldFrames != 150 || r.Frames() != 150 {
		t.Fatalf("%d frames, found %+v", r.Frames(), found)
	}
	emptyFrom(r, 40)
	if err := r.Resize(cfg.Frames); err != nil {
		t.Fatal(err)
	}
	mustClose(t, r)
	r, found = mustOpen(t, cfg)
	if found.OldFrames != 40 || r.Frames() != 40 {
		t.Fatalf("%d frames, found %+v", r.Frames(), found)
	}
	checkFilled(t, r, 39)
}

func TestResizeRing(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	for _, units := range []int64{3, 2, 1, 4} {
		cfg.RingBytes = units * RingUnit
		r, found := mustOpen(t, cfg)
		if !found.RingValid || string(r.Ring()[:7]) != "the log" {
			t.Fatalf("%d units: found %+v", units, found)
		}
		if err := r.ResizeRing(cfg.RingBytes); err != nil {
			t.Fatal(err)
		}
		ring := r.Ring()
		if int64(len(ring)) != cfg.RingBytes {
			t.Fatalf("ring is %d bytes, want %d", len(ring), cfg.RingBytes)
		}
		ring[len(ring)-1] = 1
		if got, want := heldBytes(t, r), wantedBytes(r); isMemory(t, cfg.Dir) && got != want {
			t.Errorf("%d units: file holds %d bytes, want %d", units, got, want)
		}
		checkFilled(t, r, 50)
		if err := r.ResizeRing(cfg.RingBytes + 1); err == nil {
			t.Error("odd size: no error")
		}
		mustClose(t, r)
	}
}

// Frames reserved later: the header counts only those that are.
func TestReserve(t *testing.T) {
	cfg, _ := testConfig(t, 3*backgroundChunk)
	cfg.FirstFrames = 10
	r, _ := mustOpen(t, cfg)
	if r.Frames() != cfg.Frames || r.Reserved() != 10 {
		t.Fatalf("reserved %d of %d", r.Reserved(), r.Frames())
	}
	r.Ready(1, 1)
	fill(r, 9)
	if n, err := r.ReserveMore(); n != 10+backgroundChunk || err != nil {
		t.Fatal(n, err)
	}
	mustClose(t, r)

	r, found := mustOpen(t, cfg)
	if want := 10 + backgroundChunk; found.OldFrames != want || r.Reserved() != want || r.Frames() != cfg.Frames {
		t.Fatalf("reserved %d of %d, found %+v", r.Reserved(), r.Frames(), found)
	}
	checkFilled(t, r, 9)
	for r.Reserved() < cfg.Frames {
		if _, err := r.ReserveMore(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.ReserveMore(); n != cfg.Frames || err != nil {
		t.Fatalf("reserved %d, %v", n, err)
	}
	fill(r, cfg.Frames-1)
	mustClose(t, r)
	r, _ = mustOpen(t, cfg)
	checkFilled(t, r, cfg.Frames-1)
}

// What a death while growing leaves beyond the counted frames is given back.
func TestTailsAreGivenBack(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	r, _ := mustOpen(t, cfg)
	want := heldBytes(t, r)
	for _, part := range [][2]int64{{HeaderBytes + RingUnit, 3 * RingUnit}, {descOffset + 2*4096, 1 << 20}, {frameOffset + 100*page.Size, 1 << 20}} {
		if err := fallocate(r.mem.file, 0, part[0], part[1]); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, r)
	r, found := mustOpen(t, cfg)
	if !found.FramesValid {
		t.Fatalf("found %+v", found)
	}
	if got := heldBytes(t, r); isMemory(t, cfg.Dir) && got != want {
		t.Errorf("file holds %d bytes, want %d", got, want)
	}
	checkFilled(t, r, 99)
}

// A death while growing may leave any bytes in the descriptors beyond the counted ones.
func TestGrowOverOldDescriptors(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	cfg.Frames = 128 // in the page of the hundredth descriptor
	r, _ := mustOpen(t, cfg)
	path := r.Path()
	r.shrink(100)
	mustClose(t, r)
	junk := make([]byte, 28*DescSize)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range junk {
		junk[i] = byte(rnd.Uint32())
	}
	patch(t, path, descOffset+100*DescSize, junk)
	r, found := mustOpen(t, cfg)
	if !found.FramesValid || found.OldFrames != 100 {
		t.Fatalf("found %+v", found)
	}
	for f := 100; f < 128; f++ {
		if got := r.Desc(f).Examine(f); got != (Finding{}) {
			t.Fatalf("frame %d is %+v, want free", f, got)
		}
	}
}

func TestHugetlbfs(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("hugetlbfs", dir, "hugetlbfs", 0, "pagesize=2M"); err != nil {
		t.Skip("mount:", err)
	}
	defer unix.Unmount(dir, 0)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bfree < 12 {
		t.Skipf("%d huge pages are free, want 12", st.Bfree)
	}
	cfg, _ := testConfig(t, 200)
	cfg.Dir = dir
	live(t, cfg)
	cfg.Frames = 300
	r, found := mustOpen(t, cfg)
	if !found.FramesValid {
		t.Fatalf("found %+v", found)
	}
	checkFilled(t, r, 199)
	emptyFrom(r, 100)
	if err := r.Resize(100); err != nil {
		t.Fatal(err)
	}
	checkFilled(t, r, 99)
	if err := r.Remove(); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	mustClose(t, r)
}
