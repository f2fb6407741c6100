package datafile

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newDisk is a disk in memory with the directory of a database.
func newDisk(seed uint64) *file.Mem {
	m := file.NewMem(seed)
	m.MkdirAll("/db", 0o700)
	m.SyncDir("/")
	return m
}

// openSet opens the data files of fsys as a start does, and closes them at the end of the test.
func openSet(t testing.TB, fsys file.FS, dir string) *Set {
	t.Helper()
	s, err := Open(Config{FS: fsys, Dir: dir})
	must(t, err)
	must(t, s.RestoreTorn())
	_, err = s.Torn(ctx)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// openEarly is openSet while torn pages may still be mended.
func openEarly(t testing.TB, fsys file.FS, dir string) *Set {
	t.Helper()
	s, err := Open(Config{FS: fsys, Dir: dir})
	must(t, err)
	must(t, s.RestoreTorn())
	t.Cleanup(func() { s.Close() })
	return s
}

// mend is the whole of RestoreTorn.
func mend(s *Set) ([]page.ID, error) {
	if err := s.RestoreTorn(); err != nil {
		return nil, err
	}
	return s.Torn(ctx)
}

func newPage() *page.Page { return (*page.Page)(file.AlignedBuf(page.Size)) }

// versioned is a stamped page every sector of which depends on the version.
func versioned(id page.ID, version uint64) *page.Page {
	p := newPage()
	p[4] = byte(page.KindOverflow)
	binary.LittleEndian.PutUint16(p[6:], page.Format)
	p.SetID(id)
	p.SetLSN(page.LSN(version))
	for i := page.HeaderSize; i < page.Size; i += 8 {
		binary.LittleEndian.PutUint64(p[i:], version<<32|uint64(i))
	}
	p.Stamp()
	return p
}

// versionAt reads a page and says which version it is; 0 is a page never written. A torn one ends the test.
func versionAt(t testing.TB, s *Set, id page.ID) uint64 {
	t.Helper()
	p := newPage()
	must(t, s.ReadPage(ctx, id, p, ClassMiss))
	must(t, p.Verify(id))
	v := uint64(p.LSN())
	for _, at := range []int{page.HeaderSize, page.Size - 8} {
		if got := binary.LittleEndian.Uint64(p[at:]) >> 32; got != v {
			t.Fatalf("page %v has LSN %d and bytes of version %d", id, v, got)
		}
	}
	return v
}

func writes(version uint64, ids ...page.ID) []Write {
	var w []Write
	for _, id := range ids {
		w = append(w, Write{id, versioned(id, version)})
	}
	return w
}

func TestCreateRemoveSpaces(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	for _, no := range []uint32{7, 1 << 31, 0, 1025} {
		must(t, s.Create(no))
	}
	if err := s.Create(7); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	want := []uint32{0, 7, 1025, 1 << 31}
	for _, set := range []*Set{s, openSet(t, m.Clone(file.DropUnsynced), "/db")} {
		if got := set.Spaces(); !slices.Equal(got, want) {
			t.Errorf("spaces are %v, want %v", got, want)
		}
	}
	must(t, s.Remove(7))
	if err := s.Remove(7); !errors.Is(err, ErrNoSpace{7}) {
		t.Errorf("removed twice: %v", err)
	}
	id := page.MakeID(7, 3)
	if err := s.ReadPage(ctx, id, newPage(), ClassMiss); !errors.Is(err, ErrNoSpace{7}) {
		t.Errorf("read of a removed space: %v", err)
	}
	if err := s.ReadPages(ctx, id, []*page.Page{newPage()}, ClassRedo); !errors.Is(err, ErrNoSpace{7}) {
		t.Errorf("read of a removed space: %v", err)
	}
	if err := s.WritePages(ctx, writes(1, page.MakeID(0, 0), id)); !errors.Is(err, ErrNoSpace{7}) {
		t.Errorf("write to a removed space: %v", err)
	}
	if got := openSet(t, m.Clone(file.DropUnsynced), "/db").Spaces(); slices.Contains(got, 7) {
		t.Error("the removal was not durable")
	}
}

func TestStrangeFilesAreLeftAlone(t *testing.T) {
	m := newDisk(1)
	openSet(t, m, "/db")
	for _, name := range []string{"1.hs", "00000001.hsx", "0000000A.hs", "readme"} {
		f, err := m.OpenFile("/db/spaces/"+name, file.ReadWrite|file.Create, 0o600)
		must(t, err)
		f.Close()
	}
	if got := openSet(t, m, "/db").Spaces(); len(got) != 0 {
		t.Errorf("spaces are %v, want none", got)
	}
}

// onDisks runs a test with and without atomic writes, and on the real file system.
func onDisks(t *testing.T, test func(t *testing.T, fsys file.FS, dir string)) {
	t.Run("doublewrite", func(t *testing.T) { test(t, newDisk(1), "/db") })
	t.Run("atomic", func(t *testing.T) {
		m := newDisk(1)
		m.SetAtomicUnit(page.Size)
		test(t, m, "/db")
	})
	t.Run("os", func(t *testing.T) { test(t, file.OS, t.TempDir()) })
}

func TestWriteAndRead(t *testing.T) {
	onDisks(t, func(t *testing.T, fsys file.FS, dir string) {
		s := openSet(t, fsys, dir)
		must(t, s.Create(1))
		must(t, s.Create(2))
		if v := versionAt(t, s, page.MakeID(1, 5)); v != 0 {
			t.Errorf("a page of an empty file has version %d", v)
		}
		var ids []page.ID
		for no := range uint32(3 * maxBatch / 2) {
			ids = append(ids, page.MakeID(1+no%2, no), page.MakeID(1+no%2, 1000+no/2))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		shuffled := slices.Clone(ids)
		slices.Reverse(shuffled)
		must(t, s.WritePages(ctx, writes(3, shuffled...)))
		for _, set := range []*Set{s, openSet(t, fsys, dir)} {
			for _, id := range ids {
				if v := versionAt(t, set, id); v != 3 {
					t.Fatalf("page %v has version %d, want 3", id, v)
				}
			}
		}
		if v := versionAt(t, s, page.MakeID(1, 900)); v != 0 {
			t.Errorf("a hole has version %d", v)
		}
		st := s.Stats()
		if st[ClassMiss].BytesRead < 1000 || st[ClassWriteBack].BytesWritten < uint64(len(ids))*page.Size || st[ClassWriteBack].InFlight != 0 {
			t.Errorf("stats are %+v", st)
		}
	})
}

func TestReadPagesAcrossTheEnd(t *testing.T) {
	onDisks(t, func(t *testing.T, fsys file.FS, dir string) {
		s := openSet(t, fsys, dir)
		must(t, s.Create(1))
		must(t, s.WritePages(ctx, writes(1, page.MakeID(1, 0), page.MakeID(1, 1), page.MakeID(1, 3))))
		var pages []*page.Page
		for i := range 64 {
			p := newPage()
			p[i] = 9 // must be gone
			pages = append(pages, p)
		}
		must(t, s.ReadPages(ctx, page.MakeID(1, 1), pages, ClassPrewarm))
		for i, p := range pages {
			id := page.MakeID(1, uint32(i+1))
			must(t, p.Verify(id))
			if written := i == 0 || i == 2; written != (p.LSN() == 1) {
				t.Errorf("page %v has LSN %d", id, p.LSN())
			}
		}
		if st := s.Stats()[ClassPrewarm]; st.Reads != 1 {
			t.Errorf("%d reads, want 1", st.Reads)
		}
	})
}

// TestShortTail: a crash may leave part of a page at the end of a file. The rest of it reads as zeroes.
func TestShortTail(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	f, err := m.OpenFile("/db/spaces/00000001.hs", file.ReadWrite, 0)
	must(t, err)
	f.WriteAt([]byte{1, 2, 3}, page.Size)
	p := versioned(1, 1)
	must(t, s.ReadPage(ctx, page.MakeID(1, 1), p, ClassMiss))
	if *p != (page.Page{1, 2, 3}) {
		t.Error("the tail is not followed by zeroes")
	}
	must(t, s.WritePages(ctx, writes(4, page.MakeID(1, 1), page.MakeID(1, 2))))
	if v := versionAt(t, s, page.MakeID(1, 2)); v != 4 {
		t.Errorf("version %d, want 4", v)
	}
}

func TestOurBugsPanic(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	id := page.MakeID(1, 1)
	unstamped := versioned(id, 1)
	unstamped[100]++
	crooked := (*page.Page)(file.AlignedBuf(page.Size + 512)[512:])
	fresh, err := Open(Config{FS: m, Dir: "/db"})
	must(t, err)
	for what, do := range map[string]func(){
		"twice":        func() { s.WritePages(ctx, append(writes(1, id), writes(2, id)...)) },
		"unstamped":    func() { s.WritePages(ctx, []Write{{id, unstamped}}) },
		"another page": func() { s.WritePages(ctx, []Write{{id, versioned(id+1, 1)}}) },
		"crooked":      func() { s.ReadPage(ctx, id, crooked, ClassMiss) },
		"too early":    func() { fresh.WritePages(ctx, writes(1, id)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			do()
		}()
	}
}

func TestTable(t *testing.T) {
	var tab table
	nos := []uint32{0, 1, 1023, 1024, 1 << 20, 1<<32 - 1}
	for _, no := range nos {
		if tab.get(no) != nil {
			t.Errorf("%d is there too early", no)
		}
		tab.set(no, &space{no: no})
	}
	var got []uint32
	tab.all(func(s *space) { got = append(got, s.no) })
	if !slices.Equal(got, nos) {
		t.Errorf("got %v, want %v", got, nos)
	}
	tab.set(1024, nil)
	if tab.get(1024) != nil || tab.get(1023) == nil {
		t.Error("removed the wrong one")
	}
}
