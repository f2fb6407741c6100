package heat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

var testUUID = [16]byte{1, 2, 3}

// dumpOf is a dump in bytes.
func dumpOf(bands []Band, ids [][]page.ID) []byte {
	h := Header{UUID: testUUID, LSN: 77, At: time.Unix(1_700_000_000, 5), Frames: 1000, Bands: bands}
	for _, b := range bands {
		h.Pages += b.Pages
	}
	var out []byte
	for piece := range encoded(&h, ids) {
		out = append(out, piece...)
	}
	return out
}

func id(space, no uint32) page.ID { return page.MakeID(space, no) }

func smallDump() []byte {
	return dumpOf([]Band{{64, 2}, {2, 3}}, [][]page.ID{{id(16, 5), id(17, 1)}, {id(1, 9), id(16, 4), id(16, 6)}})
}

func readBytes(b []byte) (Header, [][]page.ID, error) {
	var ids [][]page.ID
	h, err := Read(bytes.NewReader(b), int64(len(b)), "x", func(band int, id page.ID) {
		for len(ids) <= band {
			ids = append(ids, nil)
		}
		ids[band] = append(ids[band], id)
	})
	return h, ids, err
}

func TestDumpRoundTrip(t *testing.T) {
	h, ids, err := readBytes(smallDump())
	if err != nil {
		t.Fatal(err)
	}
	if h.UUID != testUUID || h.LSN != 77 || !h.At.Equal(time.Unix(1_700_000_000, 5)) || h.Frames != 1000 || h.Pages != 5 ||
		!slices.Equal(h.Bands, []Band{{64, 2}, {2, 3}}) {
		t.Errorf("header %+v", h)
	}
	if len(ids) != 2 || !slices.Equal(ids[0], []page.ID{id(16, 5), id(17, 1)}) || !slices.Equal(ids[1], []page.ID{id(1, 9), id(16, 4), id(16, 6)}) {
		t.Errorf("pages %v", ids)
	}
	if _, _, err := readBytes(dumpOf(nil, nil)); err != nil {
		t.Errorf("an empty dump: %v", err)
	}
}

// TestDumpLayout holds the format of the package comment against the bytes.
func TestDumpLayout(t *testing.T) {
	b := smallDump()
	u32 := func(off int) uint32 { return binary.BigEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.BigEndian.Uint64(b[off:]) }
	if string(b[:8]) != "HEARTHHD" || u32(8) != 1 || u32(12) != page.Size || [16]byte(b[16:32]) != testUUID || u64(32) != 77 ||
		u64(40) != 1_700_000_000_000_000_005 || u64(48) != 1000 || u64(56) != 5 || u32(64) != 2 || u32(68) != 0 {
		t.Errorf("header % x", b[:72])
	}
	if u32(72) != 64 || u32(76) != 0 || u64(80) != 2 || u32(88) != 2 || u64(96) != 3 {
		t.Errorf("band table % x", b[72:104])
	}
	if u64(104) != uint64(id(16, 5)) || len(b) != 104+5*8+4 {
		t.Errorf("pages % x", b[104:])
	}
	if got := crc32.Checksum(b[:len(b)-4], crc32.MakeTable(crc32.Castagnoli)); got != u32(len(b)-4) {
		t.Errorf("sum %x, want %x", u32(len(b)-4), got)
	}
}

// TestDamagedDump: no byte may be another, none missing, none too many.
func TestDamagedDump(t *testing.T) {
	whole := smallDump()
	bad := func(what string, b []byte) {
		t.Helper()
		_, _, err := readBytes(b)
		if begins := min(len(b), len(magic)); string(b[:begins]) != magic[:begins] || begins > 0 && begins < len(magic) {
			if !errors.Is(err, ErrNotDump) { // it may be anything, also something that is needed
				t.Errorf("%s: got %v, want ErrNotDump", what, err)
			}
		} else if !errors.As(err, new(*DamagedError)) && !errors.As(err, new(*VersionError)) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		bad("a flipped bit", b)
		bad("cut off", whole[:i])
	}
	bad("longer", append(bytes.Clone(whole), 0))
	bad("zeroes", make([]byte, len(whole)))
}

// resum makes the checksum right again: what follows is not damage but malice.
func resum(b []byte) []byte {
	n := len(b) - sumLen
	return binary.BigEndian.AppendUint32(b[:n:n], crc32.Checksum(b[:n], castagnoli))
}

func TestHostileDump(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(b []byte)
	}{
		{"endless", func(b []byte) { binary.BigEndian.PutUint64(b[56:], 1<<62) }},
		{"more bands than there are", func(b []byte) { binary.BigEndian.PutUint32(b[64:], 1<<31) }},
		{"bands that sum up beyond all numbers", func(b []byte) {
			binary.BigEndian.PutUint64(b[80:], 1<<63)
			binary.BigEndian.PutUint64(b[96:], 1<<63+5)
		}},
		{"an empty band", func(b []byte) { binary.BigEndian.PutUint64(b[80:], 0); binary.BigEndian.PutUint64(b[96:], 5) }},
		{"bands out of order", func(b []byte) { binary.BigEndian.PutUint32(b[72:], 1) }},
		{"no uuid", func(b []byte) { clear(b[16:32]) }},
		{"another page size", func(b []byte) { binary.BigEndian.PutUint32(b[12:], 4096) }},
		{"pages out of order", func(b []byte) { copy(b[104:112], b[112:120]) }},
		{"space 0", func(b []byte) { binary.BigEndian.PutUint64(b[104:], 7) }},
	} {
		b := smallDump()
		c.do(b)
		if _, _, err := readBytes(resum(b)); !errors.As(err, new(*DamagedError)) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	b := smallDump()
	binary.BigEndian.PutUint32(b[8:], 2)
	var v *VersionError
	if _, _, err := readBytes(resum(b)); !errors.As(err, &v) || v.Got != 2 {
		t.Errorf("another version: got %v", err)
	}
}

// FuzzRead: any bytes are read in time that their length bounds, and what is read can be written and is the same.
func FuzzRead(f *testing.F) {
	f.Add(smallDump())
	f.Add(dumpOf(nil, nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ids, err := readBytes(resum(append(b, 0, 0, 0, 0)))
		if err != nil {
			return
		}
		var again []byte
		for piece := range encoded(&h, ids) {
			again = append(again, piece...)
		}
		// What the header has no field for is not kept.
		b = resum(append(b, 0, 0, 0, 0))
		clear(b[68:72])
		for i := range h.Bands {
			clear(b[headerLen+i*bandLen+4:][:4])
		}
		if !bytes.Equal(again, resum(b)) {
			t.Errorf("read and written again it is\n% x, was\n% x", again, b)
		}
	})
}

func TestSnapshotSorts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	b := newBreath()
	defer b.end()
	s := &snapshot{breath: b}
	want := map[int][]page.ID{}
	for range 20_000 {
		heat, id := uint32(1)<<rng.IntN(5), id(16, uint32(rng.IntN(30_000)))
		if slices.Contains(want[bandOf(heat)], id) && rng.IntN(2) == 0 {
			s.add(bandOf(heat), id) // seen twice
			continue
		}
		s.add(bandOf(heat), id)
		want[bandOf(heat)] = append(want[bandOf(heat)], id)
	}
	again := &snapshot{breath: b}
	for band, chunks := range s.bands {
		for _, c := range chunks {
			again.bands[band] = append(again.bands[band], slices.Clone(c))
		}
	}
	bands, ids := s.hottest(1 << 40)
	if len(bands) != 5 {
		t.Fatalf("%d bands, want 5", len(bands))
	}
	all := slices.Concat(ids...)
	for i, rest := 0, all; i < len(bands); i++ {
		w := want[bandOf(bands[i].Heat)]
		slices.Sort(w)
		w = slices.Compact(w)
		n := bands[i].Pages
		if n != uint64(len(w)) || n > uint64(len(rest)) || !slices.Equal(rest[:n], w) {
			t.Fatalf("band %d has %d pages, want %d, or others", i, n, len(w))
		}
		rest = rest[n:]
	}
	for _, c := range ids { // rule 2: who allocates, clears or copies more at a time keeps a core for as long
		if len(c) > chunkLen {
			t.Errorf("a piece of %d pages, want at most %d", len(c), chunkLen)
		}
	}
	few := bands[0].Pages + 3
	bands, ids = again.hottest(few)
	if len(bands) != 2 || bands[1].Pages != 3 || !slices.Equal(slices.Concat(ids...), all[:few]) {
		t.Errorf("the hottest few: %v", bands)
	}
}
