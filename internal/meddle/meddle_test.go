package meddle

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/testbed"
)

// sparse is a file with the shape of a region of some frames.
func sparse(t *testing.T, frames int64) string {
	t.Helper()
	path := filepath.Join(testbed.MemoryDir(t), "x.region")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, r := range [][2]int64{{0, ringOffset + ringUnit}, {descriptorsOffset, frames * descriptorBytes}, {framesOffset, frames * frameBytes}} {
		if err := unix.Fallocate(int(f.Fd()), 0, r[0], r[1]); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("something"), r[0]+100); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestCopyRegion(t *testing.T) {
	from := sparse(t, 300)
	to := from + ".copy"
	if err := copyRegion(to, from); err != nil {
		t.Fatal(err)
	}
	var a, b unix.Stat_t
	if err := unix.Stat(from, &a); err != nil {
		t.Fatal(err)
	}
	if err := unix.Stat(to, &b); err != nil {
		t.Fatal(err)
	}
	const metadata = 64 // blocks of 512 bytes: a disk, unlike memory, needs some to say where a file is
	if a.Size != b.Size || b.Blocks < a.Blocks-metadata || b.Blocks > a.Blocks+metadata {
		t.Errorf("the copy has %d bytes in %d blocks, want %d in %d", b.Size, b.Blocks, a.Size, a.Blocks)
	}
	in, out := readAt(t, from), readAt(t, to)
	for at := range in {
		if !bytes.Equal(in[at], out[at]) {
			t.Errorf("the copy differs at %#x", at)
		}
	}
}

// readAt reads the beginnings of the parts of a region.
func readAt(t *testing.T, path string) map[int64][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parts := map[int64][]byte{}
	for _, at := range []int64{0, ringOffset, descriptorsOffset, framesOffset} {
		parts[at] = make([]byte, 16<<10)
		if _, err := f.ReadAt(parts[at], at); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

// TestDamage: bytes change where they are meant to, and nowhere else.
func TestDamage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for what, part := range map[What]int64{Header: 0, Descriptors: descriptorsOffset} {
		changed := false
		for range 50 {
			path := sparse(t, 200)
			before := readAt(t, path)
			if _, err := damage(rnd, path, what); err != nil {
				t.Fatal(err)
			}
			for at, b := range readAt(t, path) {
				if same := bytes.Equal(b, before[at]); at != part && !same {
					t.Errorf("%s: the part at %#x changed", what, at)
				} else if at == part && !same {
					changed = true
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if !changed {
			t.Errorf("%s: nothing changed", what)
		}
	}
}
