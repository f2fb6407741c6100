package hearth

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/recovery"
	"github.com/hearthdb/hearth/internal/region"
)

// Every kind of start, on a real file system and with memory that survives: what the report says of it, and that the data is right.

// site is a database directory, its memory, and how many transactions it was told to keep.
type site struct {
	t    *testing.T
	dir  string
	opts Options
	logs *logBuffer
	rows int // acknowledged; transaction i writes row i into both trees
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), opts: *testOptions(t), logs: &logBuffer{}}
	s.opts.Logger = slog.New(slog.NewTextHandler(s.logs, nil))
	return s
}

// logBuffer collects what a logger says.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take is everything said since the last call.
func (l *logBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// open opens the database, wants the start to be of that kind for that reason, and all rows to be there.
func (s *site) open(kind StartKind, why region.Reason) *DB {
	s.t.Helper()
	s.logs.take()
	db := mustOpen(s.t, s.dir, &s.opts)
	r := db.StartReport()
	if r.Kind != kind || r.Why != string(why) {
		s.t.Fatalf("start is %q because %q, want %q because %q\n%s", r.Kind, r.Why, kind, why, s.logs.take())
	}
	text := s.logs.take()
	if n := strings.Count(text, string(why)); why != "" && n != 1 {
		s.t.Errorf("the log says %d times %q, want once:\n%s", n, why, text)
	}
	if !strings.Contains(text, "msg=started kind="+strconv.Quote(string(kind))) && !strings.Contains(text, "msg=started kind="+string(kind)) {
		s.t.Errorf("no line in the log says that this is a start of kind %q:\n%s", kind, text)
	}
	if got := s.verify(db); got != s.rows {
		s.t.Fatalf("there are %d rows, want %d; the start was %q", got, s.rows, kind)
	}
	return db
}

// fill adds n transactions.
func (s *site) fill(db *DB, n int) {
	s.t.Helper()
	for range n {
		if err := writeRow(db, s.rows); err != nil {
			s.t.Fatal(err)
		}
		s.rows++
	}
}

func rowValue(i int) []byte { return stamp{uint64(i), 100 + i%3000}.bytes() }

// writeRow is transaction i: a row into each of two trees.
func writeRow(db *DB, i int) error {
	ctx := context.Background()
	return db.Update(ctx, func(tx *Tx) error {
		for _, name := range []string{"left", "right"} {
			t, err := tx.Tree(name)
			if errors.Is(err, ErrTreeNotFound) {
				t, err = tx.CreateTree(name)
			}
			if err != nil {
				return err
			}
			if err := t.Put(binary.BigEndian.AppendUint64(nil, uint64(i)), rowValue(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// verify wants rows 0 to n-1 in both trees and returns n.
func (s *site) verify(db *DB) int {
	s.t.Helper()
	counts := map[string]int{}
	err := db.View(context.Background(), func(tx *Tx) error {
		for _, name := range []string{"left", "right"} {
			t, err := tx.Tree(name)
			if errors.Is(err, ErrTreeNotFound) {
				continue
			} else if err != nil {
				return err
			}
			c := t.Cursor()
			n := 0
			for ok := c.First(); ok; ok = c.Next() {
				if got := binary.BigEndian.Uint64(c.Key()); got != uint64(n) || !bytes.Equal(c.Value(), rowValue(n)) {
					return fmt.Errorf("%s: row %d where row %d should be, with %d bytes", name, got, n, len(c.Value()))
				}
				n++
			}
			if err := c.Err(); err != nil {
				return err
			}
			counts[name] = n
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if counts["left"] != counts["right"] {
		s.t.Fatalf("a transaction is there by half: %v", counts)
	}
	return counts["left"]
}

func (s *site) close(db *DB) {
	s.t.Helper()
	mustSound(s.t, db)
	s.stop(db.Close())
}

func (s *site) stop(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// regions lists the files in the memory directory.
func (s *site) regions() []string {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.opts.MemoryDir, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}

func TestStartNewAndClean(t *testing.T) {
	s := newSite(t)
	db := s.open(StartNew, "")
	if r := db.StartReport(); !r.Survives || r.Incarnation != 1 || r.Took <= 0 || len(r.Phases) == 0 {
		t.Errorf("report: %+v", r)
	}
	s.fill(db, 2000)
	s.stop(db.Close())
	if len(s.regions()) != 1 {
		t.Errorf("memory after Close: %q, want one file", s.regions())
	}
	db = s.open(StartCleanRegion, "")
	if r := db.StartReport(); r.Frames["dirty"] == 0 || r.RedoPages != 0 || r.RedoBytes != 0 || r.Losers != 0 || r.Incarnation != 2 {
		t.Errorf("report: %+v", r)
	}
	s.fill(db, 10)
	s.close(db)
	db = s.open(StartCleanRegion, "")
	s.stop(db.CloseFlush(context.Background()))
	if left := s.regions(); len(left) != 0 {
		t.Errorf("memory after CloseFlush: %q, want none", left)
	}
	db = s.open(StartCleanFlushed, "")
	if r := db.StartReport(); r.RedoBytes != 0 || r.LogEnd != r.Checkpoint {
		t.Errorf("report: %+v", r)
	}
	s.close(db)
}

// childEnv makes the test binary the process that is killed: DIR\nMEMORYDIR\nDURABILITY\nFIRST ROW.
const childEnv = "HEARTH_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		fmt.Fprintln(os.Stderr, childProcess(strings.Split(what, "\n")))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// childProcess opens the database it is told to, writes rows, and says so, until it is killed.
func childProcess(order []string) error {
	o := optionsIn(order[1])
	o.Durability = Durability(order[2])
	ctx := context.Background()
	db, err := Open(ctx, order[0], o)
	if err != nil {
		return err
	}
	from, err := strconv.Atoi(order[3])
	if err != nil {
		return err
	}
	// One transaction is open at the death.
	tx, err := db.Begin(ctx, TxOptions{})
	if err != nil {
		return err
	}
	if from > 0 {
		tree, err := tx.Tree("left")
		if err != nil {
			return err
		}
		for i := range min(from, 300) {
			if err := tree.Put(binary.BigEndian.AppendUint64(nil, uint64(i)), []byte("never committed")); err != nil {
				return err
			}
		}
	}
	for i := from; ; i++ {
		if err := writeRow(db, i); err != nil {
			return err
		}
		fmt.Printf("acknowledged %d\n", i)
	}
}

// killChild lets a child write until n more rows are acknowledged, and kills it.
func (s *site) killChild(n int) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%s\n%s\n%d", childEnv, s.dir, s.opts.MemoryDir, s.opts.Durability, s.rows))
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	target, killed := s.rows+n, false
	in := bufio.NewScanner(out)
	for in.Scan() {
		i, ok := strings.CutPrefix(in.Text(), "acknowledged ")
		if !ok {
			s.t.Log(in.Text())
			continue
		}
		row, err := strconv.Atoi(i)
		if err != nil {
			s.t.Fatal(err)
		}
		if s.rows = row + 1; s.rows >= target && !killed {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); !killed {
		s.t.Fatalf("the child ended by itself: %v", err)
	}
}

// openAfterKill is open, when the transaction in flight at the kill may be there too.
func (s *site) openAfterKill(kind StartKind, why region.Reason) *DB {
	s.t.Helper()
	db := mustOpen(s.t, s.dir, &s.opts)
	if r := db.StartReport(); r.Kind != kind || r.Why != string(why) {
		s.t.Fatalf("start is %q because %q, want %q because %q", r.Kind, r.Why, kind, why)
	}
	got := s.verify(db)
	if got != s.rows && got != s.rows+1 {
		s.t.Fatalf("there are %d rows, %d were acknowledged; the start was %q", got, s.rows, kind)
	}
	s.rows = got
	return db
}

func TestStartAfterKill(t *testing.T) {
	for _, d := range []Durability{DurabilityCommit, DurabilityProcess} {
		t.Run(string(d), func(t *testing.T) {
			s := newSite(t)
			s.opts.Durability = d
			s.killChild(700)
			db := s.openAfterKill(StartCrashRegion, "")
			s.fill(db, 50)
			s.close(db)
			for range 4 { // now with an open transaction, and right after a start
				s.killChild(20)
				db = s.openAfterKill(StartCrashRegion, "")
				// One loser is the child's long transaction, another may have been in flight.
				if r := db.StartReport(); r.Losers < 1 || r.Losers > 2 || r.Frames["dirty"] == 0 {
					t.Errorf("report: %+v", r)
				}
				s.fill(db, 5)
				s.close(db)
			}
		})
	}
}

// TestStartRegionLost: a reboot. What was committed durably is in the log.
func TestStartRegionLost(t *testing.T) {
	s := newSite(t)
	s.killChild(1500)
	for _, name := range s.regions() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	var phases []string
	last := -1
	s.opts.OnPhase = func(phase string, percent int) {
		switch {
		case len(phases) == 0 || phases[len(phases)-1] != phase:
			phases = append(phases, phase)
			if percent != -1 {
				t.Errorf("phase %s begins at %d %%", phase, percent)
			}
		case phase != "analysis" || percent <= last || percent > 100:
			t.Errorf("phase %s: %d %% after %d %%", phase, percent, last)
		default:
			last = percent
		}
	}
	db := s.openAfterKill(StartRegionLost, "")
	if last < 0 {
		t.Error("nobody told how far the reading of the log was")
	}
	for i, p := range db.StartReport().Phases {
		if i >= len(phases) || phases[i] != p.Name {
			t.Errorf("told of the phases %q, report has %v", phases, db.StartReport().Phases)
			break
		}
	}
	s.opts.OnPhase = nil
	if r := db.StartReport(); r.RedoBytes == 0 || r.LogEnd <= r.Checkpoint {
		t.Errorf("report: %+v", r)
	}
	s.close(db)
	s.close(s.open(StartCleanRegion, ""))
}

// TestStartWithoutSurvivingMemory: no memory-dir is a warning, or an error for who wants it so.
func TestStartWithoutSurvivingMemory(t *testing.T) {
	s := newSite(t)
	s.opts.MemoryDir = filepath.Join(s.dir, "there is no such directory")
	s.dir = filepath.Join(s.dir, "data")
	db := mustOpen(t, s.dir, &s.opts)
	if r := db.StartReport(); r.Survives || r.Kind != StartNew {
		t.Errorf("report: %+v", r)
	}
	if text := s.logs.take(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, s.opts.MemoryDir) {
		t.Errorf("want one warning that names the directory:\n%s", text)
	}
	s.fill(db, 300)
	s.close(db)
	s.close(s.open(StartCleanFlushed, ""))
	s.opts.Memory = MemoryRequire
	if db, err := Open(context.Background(), s.dir, &s.opts); err == nil {
		db.Close()
		t.Error("memory=require is content with none")
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want one that says the directory does not exist", err)
	}
	s.opts.Memory = MemoryOff
	s.close(s.open(StartCleanFlushed, ""))
}

func TestStartNoRoom(t *testing.T) {
	s := newSite(t)
	var st unix.Statfs_t
	if err := unix.Statfs(s.opts.MemoryDir, &st); err != nil {
		t.Fatal(err)
	}
	s.opts.Memory = MemoryRequire
	s.opts.PoolSize = int64(st.Bavail)*st.Bsize + 1<<30
	_, err := Open(context.Background(), s.dir, &s.opts)
	if !errors.Is(err, region.ErrNoRoom) || !strings.Contains(err.Error(), s.opts.MemoryDir) {
		t.Errorf("error is %v, want %v of %s", err, region.ErrNoRoom, s.opts.MemoryDir)
	}
	if left := s.regions(); len(left) != 0 {
		t.Errorf("it leaves %q", left)
	}
	s.opts.PoolSize = 16 << 20 // nothing is broken
	db := mustOpen(t, s.dir, &s.opts)
	s.fill(db, 10)
	s.close(db)
}

// TestStartStaleRegion: somebody runs the database without its memory, then with it again.
func TestStartStaleRegion(t *testing.T) {
	s := newSite(t)
	db := s.open(StartNew, "")
	s.fill(db, 500)
	s.stop(db.Close())
	s.opts.Memory = MemoryOff
	// Dirty pages were left in the memory: the log has them.
	db = s.open(StartRegionLost, "")
	s.fill(db, 500)
	s.close(db)
	s.opts.Memory = MemoryAuto
	db = s.open(StartCleanFlushed, region.ReasonStaleIncarnation)
	s.fill(db, 10)
	s.close(db)
	s.close(s.open(StartCleanRegion, ""))
}

// failingFS fails every write of the control file while fail is set: a start that gets that far has attached.
type failingFS struct {
	file.FS
	fail atomic.Bool
}

var errNotNow = errors.New("the test does not want it now")

func (f *failingFS) OpenFile(name string, flag file.OpenFlag, perm fs.FileMode) (file.File, error) {
	if f.fail.Load() && filepath.Base(name) == recovery.ControlFile && flag&file.ReadWrite != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotNow}
	}
	return f.FS.OpenFile(name, flag, perm)
}

// TestStartFailsInARow: a start that fails after it has attached loses nothing; after the third the frames go, the ring stays.
func TestStartFailsInARow(t *testing.T) {
	for failures, want := range map[int]struct {
		kind StartKind
		why  region.Reason
	}{
		1: {StartCrashRegion, ""},
		2: {StartCrashRegion, ""},
		3: {StartFramesLost, region.ReasonThirdAttach},
	} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			s := newSite(t)
			s.opts.Durability = DurabilityProcess // so that the ring has what the files do not
			s.killChild(300)
			disk := &failingFS{FS: file.OS}
			s.opts.fs = disk
			disk.fail.Store(true)
			for range failures {
				if _, err := Open(context.Background(), s.dir, &s.opts); !errors.Is(err, errNotNow) {
					t.Fatalf("error is %v, want the one of the test", err)
				}
			}
			disk.fail.Store(false)
			db := s.openAfterKill(want.kind, want.why)
			s.fill(db, 20)
			s.close(db)
			s.close(s.open(StartCleanRegion, ""))
		})
	}
}

// TestStartOtherSizes: pool and ring have another size at each start; stops in order and deaths take turns.
func TestStartOtherSizes(t *testing.T) {
	s := newSite(t)
	db := s.open(StartNew, "")
	s.fill(db, 3000) // some 10 MB
	for _, size := range []struct{ pool, ring int64 }{{64, 4}, {8, 4}, {4, 1}, {32, 8}, {16, 4}, {4, 4}, {16, 1}} {
		s.stop(db.Close())
		s.opts.PoolSize, s.opts.RingSize = size.pool<<20, size.ring<<20
		db = s.open(StartCleanRegion, "")
		if r := db.StartReport(); int64(r.PoolFrames) != s.opts.PoolSize/PageSize {
			t.Errorf("the pool has %d frames, want %d", r.PoolFrames, s.opts.PoolSize/PageSize)
		}
		mustSound(t, db)
		s.fill(db, 100)
	}
	s.stop(db.Close())
	for _, pool := range []int64{4, 64, 4} {
		s.opts.PoolSize, s.opts.RingSize = 16<<20, 4<<20
		s.killChild(30)
		s.opts.PoolSize = pool << 20
		s.opts.RingSize = 1 << 20
		db = s.openAfterKill(StartCrashRegion, "")
		s.close(db)
	}
}

func TestStartInUse(t *testing.T) {
	s := newSite(t)
	db := s.open(StartNew, "")
	s.fill(db, 5)
	inUse := func(dir string) {
		t.Helper()
		if _, err := Open(context.Background(), dir, &s.opts); !errors.Is(err, ErrInUse) {
			t.Errorf("error is %v, want %v", err, ErrInUse)
		}
	}
	inUse(s.dir)
	s.stop(db.Close())
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	db = s.open(StartCleanRegion, "")
	inUse(copied) // the same database, so the same memory
	s.close(db)
	s.close(s.open(StartCleanRegion, ""))
}

func TestStartForeignDirectory(t *testing.T) {
	s := newSite(t)
	if err := os.WriteFile(filepath.Join(s.dir, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), s.dir, &s.opts); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("error is %v, want one that names the file", err)
	}
	if left := s.regions(); len(left) != 0 {
		t.Errorf("it leaves %q", left)
	}
}

const controlSlot = 4096 // bytes, see recovery.Control

// editControl changes the control file: a slot is 112 bytes, the last four its checksum, which is mended if wanted.
func (s *site) editControl(slot int, mend bool, edit func(b []byte)) {
	s.t.Helper()
	name := filepath.Join(s.dir, recovery.ControlFile)
	all, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	b := all[slot*controlSlot:][:112]
	edit(b)
	if mend {
		binary.LittleEndian.PutUint32(b[108:], crc32.Checksum(b[:108], crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := os.WriteFile(name, all, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestStartWrongVersion(t *testing.T) {
	s := newSite(t)
	db := s.open(StartNew, "")
	s.fill(db, 5)
	s.stop(db.Close())
	for slot := range 2 {
		s.editControl(slot, true, func(b []byte) { binary.LittleEndian.PutUint32(b[8:], 99) })
	}
	_, err := Open(context.Background(), s.dir, &s.opts)
	var wrong *recovery.WrongVersionError
	if !errors.As(err, &wrong) || wrong.Got != 99 || !strings.Contains(err.Error(), filepath.Join(s.dir, recovery.ControlFile)) {
		t.Errorf("error is %v, want one of a wrong version that names the file", err)
	}
	for slot := range 2 {
		s.editControl(slot, true, func(b []byte) { binary.LittleEndian.PutUint32(b[8:], recovery.ControlFormat) })
	}
	s.close(s.open(StartCleanRegion, ""))
}

// TestStartDamagedControl: damage of the newer slot is survived if the log still reaches back to the older one's checkpoint;
// else it is an error. Never is what the older slot knew taken for the truth.
func TestStartDamagedControl(t *testing.T) {
	for _, c := range []struct {
		name        string
		checkpoints int
		keepRegion  bool
		keepsLog    bool
	}{{"region kept", 2, true, false}, {"log kept", 0, false, true}, {"log recycled", 2, false, false}} {
		t.Run(c.name, func(t *testing.T) {
			for _, newer := range []bool{false, true} {
				s := newSite(t)
				s.opts.SegmentSize, s.opts.LogSize, s.opts.Durability = 1<<20, 4<<20, DurabilityProcess
				db := s.open(StartNew, "")
				s.fill(db, 50)
				for range c.checkpoints {
					s.fill(db, 1500) // several segments
					s.stop(db.Checkpoint(context.Background()))
					s.fill(db, 300) // into recycled segments
				}
				s.stop(db.Close())
				if !c.keepRegion {
					s.stop(os.Remove(s.regions()[0]))
				}
				control, err := recovery.ReadControl(file.OS, s.dir)
				s.stop(err)
				slot := int(control.Sequence % 2)
				if !newer {
					slot = 1 - slot
				}
				s.editControl(slot, false, func(b []byte) { b[50] ^= 0x40 })
				db, err = Open(context.Background(), s.dir, &s.opts)
				if err != nil {
					t.Logf("newer slot is %v: %v", newer, err)
					if !newer || c.keepsLog {
						t.Error("nothing else is missing")
					}
					continue
				}
				if got := s.verify(db); got != s.rows {
					t.Errorf("newer slot is %v: there are %d rows, want %d", newer, got, s.rows)
				}
				s.close(db)
			}
		})
	}
	s := newSite(t)
	db := s.open(StartNew, "")
	s.stop(db.Close())
	for slot := range 2 {
		s.editControl(slot, false, func(b []byte) { b[50] ^= 0x40 })
	}
	_, err := Open(context.Background(), s.dir, &s.opts)
	var damage *CorruptError
	if !errors.As(err, &damage) || damage.File != filepath.Join(s.dir, recovery.ControlFile) {
		t.Errorf("both slots: error is %v, want one of damage that names the file", err)
	}
}

// TestStartDamagedRegion: a bit turns in the header of the memory, or in a descriptor.
func TestStartDamagedRegion(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int64 // in the region's file
		kind StartKind
		why  region.Reason
	}{
		{"magic", 0, StartRegionLost, region.ReasonDamagedHeader},
		{"uuid", 64, StartRegionLost, ""},
		{"descriptor", 1<<40 + 64*3 + 16, StartFramesLost, region.ReasonDamagedDescriptors},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			db := s.open(StartNew, "")
			s.fill(db, 400)
			s.stop(db.Close())
			f, err := os.OpenFile(s.regions()[0], os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b := make([]byte, 1)
			if _, err := f.ReadAt(b, c.at); err != nil {
				t.Fatal(err)
			}
			b[0] ^= 0x10
			if _, err := f.WriteAt(b, c.at); err != nil {
				t.Fatal(err)
			}
			db = mustOpen(t, s.dir, &s.opts)
			r := db.StartReport()
			if r.Kind != c.kind || c.why != "" && r.Why != string(c.why) || r.Why == "" {
				t.Errorf("start is %q because %q, want %q because %q", r.Kind, r.Why, c.kind, c.why)
			}
			if got := s.verify(db); got != s.rows {
				t.Errorf("there are %d rows, want %d", got, s.rows)
			}
			s.close(db)
		})
	}
}
