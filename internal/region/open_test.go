package region

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/page"
)

// memoryDir is a directory in a tmpfs when there is one with room: in a container it often has 64 MiB.
func memoryDir(t testing.TB) string {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err == nil && int64(fs.Bavail)*fs.Bsize > 512<<20 {
		dir, err := os.MkdirTemp("/dev/shm", "hearth-test-")
		if err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// logLines gathers what is logged.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// take returns the lines since the last take.
func (l *logLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.buf.String())
	l.buf.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func testConfig(t testing.TB, frames int) (Config, *logLines) {
	lines := new(logLines)
	return Config{
		Dir:       memoryDir(t),
		UUID:      [16]byte{0xab, 1},
		RingBytes: RingUnit,
		Frames:    frames,
		Logger:    slog.New(slog.NewTextHandler(lines, nil)),
	}, lines
}

func mustOpen(t testing.TB, cfg Config) (*Region, Found) {
	t.Helper()
	r, found, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, found
}

func mustClose(t testing.TB, r *Region) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// fill gives frame f a page whose bytes tell which it is.
func fill(r *Region, f int) {
	d := r.Desc(f)
	d.Begin()
	d.SetID(f, page.ID(1<<32|f))
	d.State.Store(StateReady)
	d.LSN.Store(uint64(f)*8 + 4096)
	p := r.Page(f)
	for i := 0; i < len(p); i += 512 {
		p[i] = byte(f)
	}
	d.End(f)
}

func checkFilled(t testing.TB, r *Region, f int) {
	t.Helper()
	want := Finding{Condition: Whole, State: StateReady, ID: page.ID(1<<32 | f), LSN: page.LSN(f)*8 + 4096}
	if got := r.Desc(f).Examine(f); got != want {
		t.Errorf("frame %d: got %+v, want %+v", f, got, want)
	}
	p := r.Page(f)
	for i := 0; i < len(p); i += 512 {
		if p[i] != byte(f) {
			t.Fatalf("frame %d: byte %d is %d, want %d", f, i, p[i], byte(f))
		}
	}
}

func checkFree(t testing.TB, r *Region) {
	t.Helper()
	for f := range r.Frames() {
		if got := r.Desc(f).Examine(f); got != (Finding{}) {
			t.Fatalf("frame %d: got %+v, want free", f, got)
		}
	}
}

func checkZeroRing(t testing.TB, r *Region) {
	t.Helper()
	for i, b := range r.Ring() {
		if b != 0 {
			t.Fatalf("ring byte %d is %d, want 0", i, b)
		}
	}
}

// live makes a region that a life got ready in and left without a goodbye.
func live(t testing.TB, cfg Config) {
	t.Helper()
	r, _ := mustOpen(t, cfg)
	r.BeginAttach(77)
	r.Ready(5, 77)
	for f := range r.Frames() {
		fill(r, f)
	}
	copy(r.Ring(), "the log")
	r.SetDurable(12288)
	mustClose(t, r)
}

func TestOpenFresh(t *testing.T) {
	cfg, lines := testConfig(t, 100)
	r, found := mustOpen(t, cfg)
	if found != (Found{Fresh: true}) {
		t.Errorf("found %+v, want fresh", found)
	}
	checkFree(t, r)
	checkZeroRing(t, r)
	if r.Frames() != 100 || r.Reserved() != 100 || len(r.Ring()) != RingUnit || !r.Survives() {
		t.Errorf("frames %d, reserved %d, ring %d, survives %v", r.Frames(), r.Reserved(), len(r.Ring()), r.Survives())
	}
	st, err := os.Stat(r.Path())
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", st.Mode(), err)
	}
	if got := lines.take(); isMemory(t, cfg.Dir) && got != nil {
		t.Errorf("logged %q, want nothing", got)
	}
}

func TestOpenSurvivor(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	r, found := mustOpen(t, cfg)
	want := Found{OldFrames: 100, FramesValid: true, RingValid: true, Durable: 12288, Incarnation: 5, LifeNonce: 77, AttachNonce: 77}
	if found != want {
		t.Errorf("found %+v, want %+v", found, want)
	}
	for f := range 100 {
		checkFilled(t, r, f)
	}
	if got := string(r.Ring()[:7]); got != "the log" {
		t.Errorf("ring starts with %q", got)
	}
	r.SetClean()
	mustClose(t, r)

	r, found = mustOpen(t, cfg)
	if !found.Clean {
		t.Errorf("found %+v, want clean", found)
	}
	r.BeginAttach(78)
	mustClose(t, r)
	_, found = mustOpen(t, cfg)
	if found.Clean || found.Attempts != 1 || found.AttachNonce != 78 || found.LifeNonce != 77 {
		t.Errorf("found %+v, want not clean, one attempt, nonces 77 and 78", found)
	}
}

// A life that did not get ready leaves nothing behind, whatever it wrote.
func TestOpenNeverReady(t *testing.T) {
	cfg, lines := testConfig(t, 100)
	r, _ := mustOpen(t, cfg)
	r.BeginAttach(1)
	fill(r, 3)
	copy(r.Ring(), "not the log")
	mustClose(t, r)
	lines.take()

	cfg.Frames, cfg.RingBytes = 50, 2*RingUnit
	r, found := mustOpen(t, cfg)
	if found != (Found{Fresh: true}) || r.Frames() != 50 || len(r.Ring()) != 2*RingUnit {
		t.Errorf("found %+v, %d frames, ring %d", found, r.Frames(), len(r.Ring()))
	}
	checkFree(t, r)
	checkZeroRing(t, r)
}

// patch changes bytes of the closed file.
func patch(t testing.TB, path string, off int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

// Every reason Open finds by itself.
func TestReasons(t *testing.T) {
	tests := []struct {
		why   Reason
		spoil func(t *testing.T, cfg *Config, path string)
	}{
		{ReasonUnfinished, func(t *testing.T, _ *Config, path string) { patch(t, path, 0, make([]byte, 8)) }},
		{ReasonDamagedHeader, func(t *testing.T, _ *Config, path string) { patch(t, path, 0, []byte("X")) }},
		{ReasonDamagedHeader, func(t *testing.T, _ *Config, path string) { patch(t, path, staticOffset, []byte("X")) }},
		{ReasonDamagedHeader, func(t *testing.T, _ *Config, path string) {
			patch(t, path, int64(slotOffsets[0])+8, []byte("X"))
			patch(t, path, int64(slotOffsets[1])+8, []byte("X"))
		}},
		{ReasonDamagedHeader, func(t *testing.T, _ *Config, path string) { os.Truncate(path, frameOffset) }},
		{ReasonDamagedHeader, func(t *testing.T, _ *Config, path string) { // holes
			f, _ := os.OpenFile(path, os.O_RDWR, 0)
			defer f.Close()
			if err := fallocate(f, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, frameOffset, 40*page.Size); err != nil {
				t.Skip(err)
			}
		}},
		{ReasonDamagedHeader, func(t *testing.T, _ *Config, path string) { os.Truncate(path, 1) }},
		{ReasonOtherLayout, func(t *testing.T, _ *Config, path string) { patch(t, path, 8, []byte{9}) }},
		{ReasonOtherLayout, func(t *testing.T, _ *Config, path string) { patch(t, path, 16, []byte("XXXXXXXX")) }},
		{ReasonForeignUUID, func(t *testing.T, cfg *Config, path string) {
			cfg.UUID[15]++
			other := strings.Replace(path, "00.region", "01.region", 1)
			if err := os.Rename(path, other); err != nil {
				t.Fatal(err)
			}
		}},
		{ReasonOtherBoot, func(_ *testing.T, cfg *Config, _ string) { cfg.BootID = [16]byte{1} }},
	}
	for _, test := range tests {
		t.Run(string(test.why), func(t *testing.T) {
			cfg, lines := testConfig(t, 100)
			live(t, cfg)
			r, _ := mustOpen(t, cfg)
			path := r.Path()
			mustClose(t, r)
			test.spoil(t, &cfg, path)
			lines.take()

			cfg.Frames = 60
			r, found := mustOpen(t, cfg)
			if found != (Found{Fresh: true, Why: test.why}) {
				t.Errorf("found %+v, want fresh for %q", found, test.why)
			}
			checkOneLine(t, lines, test.why)
			checkFree(t, r)
			checkZeroRing(t, r)
			mustClose(t, r)
			if _, found = mustOpen(t, cfg); found != (Found{Fresh: true}) {
				t.Errorf("then found %+v, want fresh", found)
			}
		})
	}
}

func checkOneLine(t testing.TB, lines *logLines, why Reason) {
	t.Helper()
	var about []string
	for _, line := range lines.take() {
		if strings.Contains(line, "thrown away") {
			about = append(about, line)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], string(why)) {
		t.Errorf("logged %q, want one line with %q", about, why)
	}
}

func TestThirdAttach(t *testing.T) {
	cfg, lines := testConfig(t, 100)
	live(t, cfg)
	for n := range MaxAttempts {
		r, found := mustOpen(t, cfg)
		if !found.FramesValid || found.Attempts != n {
			t.Fatalf("attempt %d: found %+v", n, found)
		}
		r.BeginAttach(uint64(100 + n))
		mustClose(t, r)
	}
	lines.take()
	for n := MaxAttempts; n < 2*MaxAttempts; n++ {
		cfg.Frames = 80 // the frames are gone, so nothing stands against the new size
		r, found := mustOpen(t, cfg)
		if found.FramesValid || !found.RingValid || found.Durable != 12288 || found.Attempts != n || r.Frames() != 80 {
			t.Fatalf("attempt %d: %d frames, found %+v", n, r.Frames(), found)
		}
		if n == MaxAttempts {
			if found.Why != ReasonThirdAttach {
				t.Errorf("why is %q", found.Why)
			}
			checkOneLine(t, lines, ReasonThirdAttach)
		} else if found.Why != "" {
			t.Errorf("attempt %d: why is %q, want nothing left to throw away", n, found.Why)
		}
		if got := string(r.Ring()[:7]); got != "the log" {
			t.Errorf("ring starts with %q", got)
		}
		checkFree(t, r)
		r.BeginAttach(uint64(100 + n))
		mustClose(t, r)
	}
	lines.take()
	r, found := mustOpen(t, cfg)
	if found != (Found{Fresh: true, Why: ReasonThirdAttach}) {
		t.Errorf("found %+v, want the ring gone too", found)
	}
	checkOneLine(t, lines, ReasonThirdAttach)
	checkZeroRing(t, r)
}

func TestAttemptsEndWithReady(t *testing.T) {
	cfg, _ := testConfig(t, 100)
	live(t, cfg)
	for n := range 3 * MaxAttempts {
		r, found := mustOpen(t, cfg)
		if !found.FramesValid {
			t.Fatalf("attach %d: found %+v", n, found)
		}
		r.BeginAttach(uint64(n))
		if n%2 == 1 {
			r.Ready(uint64(n), uint64(n))
		}
		mustClose(t, r)
	}
}

// The reasons that recovery finds.
func TestDiscard(t *testing.T) {
	for _, why := range []Reason{ReasonStaleIncarnation, ReasonDamagedDescriptors} {
		t.Run(string(why), func(t *testing.T) {
			cfg, lines := testConfig(t, 100)
			live(t, cfg)
			r, _ := mustOpen(t, cfg)
			lines.take()
			r.Discard(why)
			checkOneLine(t, lines, why)
			checkFree(t, r)
			r.BeginAttach(200)
			mustClose(t, r)

			r, found := mustOpen(t, cfg)
			if found.FramesValid || found.RingValid != (why == ReasonDamagedDescriptors) || found.Fresh == found.RingValid {
				t.Errorf("found %+v", found)
			}
			if found.RingValid {
				if got := string(r.Ring()[:7]); got != "the log" || found.Durable != 12288 {
					t.Errorf("ring starts with %q, durable %d", got, found.Durable)
				}
			} else {
				checkZeroRing(t, r)
			}
			r.BeginAttach(201)
			r.Ready(6, 201)
			mustClose(t, r)
			if _, found = mustOpen(t, cfg); !found.FramesValid || !found.RingValid || found.LifeNonce != 201 {
				t.Errorf("after ready: found %+v", found)
			}
		})
	}
}

func TestInUse(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	r, _ := mustOpen(t, cfg)
	if _, _, err := Open(cfg); !errors.Is(err, ErrInUse) {
		t.Fatalf("second open: %v, want ErrInUse", err)
	}
	r.Ready(1, 1)
	fill(r, 1)
	mustClose(t, r)
	r, _ = mustOpen(t, cfg)
	checkFilled(t, r, 1)
}

// Many at once: each holds the region alone, or gets ErrInUse; creation and removal included.
// The lock of a process that is going outlives it by a moment.
func TestDyingHolder(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	live(t, cfg)
	dying, _ := mustOpen(t, cfg)
	go func() {
		time.Sleep(10 * dyingPoll)
		dying.Close()
	}()
	r, found := mustOpen(t, cfg)
	if !found.FramesValid {
		t.Fatalf("found %+v", found)
	}
	mustClose(t, r)
}

func TestOpenRace(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	var holders sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				r, _, err := Open(cfg)
				if errors.Is(err, ErrInUse) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !holders.TryLock() {
					t.Error("two hold the region")
				} else {
					holders.Unlock()
				}
				if err := r.Remove(); err != nil {
					t.Error(err)
				}
				r.Close()
			}
		})
	}
	wg.Wait()
}

func TestRemove(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	live(t, cfg)
	r, _ := mustOpen(t, cfg)
	if err := r.Remove(); err != nil {
		t.Fatal(err)
	}
	checkFilled(t, r, 2) // still mapped
	mustClose(t, r)
	if _, found := mustOpen(t, cfg); found != (Found{Fresh: true}) {
		t.Fatalf("found %+v, want fresh", found)
	}
}

func TestNoRoom(t *testing.T) {
	cfg, _ := testConfig(t, MaxFrames)
	_, _, err := Open(cfg)
	var no *NoRoomError
	if !errors.Is(err, ErrNoRoom) || !errors.As(err, &no) {
		t.Fatalf("got %v, want ErrNoRoom", err)
	}
	if no.Wanted < MaxFrames*page.Size || no.Available <= 0 || no.Available >= no.Wanted {
		t.Errorf("got %+v", no)
	}
	left, _ := os.ReadDir(cfg.Dir)
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A survivor is kept when the larger pool that is wanted does not fit.
func TestNoRoomToGrow(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	live(t, cfg)
	cfg.Frames = MaxFrames
	for range 2 {
		r, found := mustOpen(t, cfg)
		if !found.FramesValid || !errors.Is(found.Short, ErrNoRoom) || r.Frames() != 10 || r.Reserved() != 10 {
			t.Fatalf("reserved %d of %d, found %+v", r.Reserved(), r.Frames(), found)
		}
		checkFilled(t, r, 9)
		mustClose(t, r)
	}
	cfg.Frames = 10
	r, found := mustOpen(t, cfg)
	if !found.FramesValid || found.Short != nil {
		t.Fatalf("found %+v", found)
	}
	checkFilled(t, r, 9)
}

// A mount that fills up while it is being reserved. Needs the right to mount.
func TestNoRoomSmallMount(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("mount:", err)
	}
	defer unix.Unmount(dir, 0)
	cfg, _ := testConfig(t, 1000)
	cfg.Dir, cfg.FirstFrames = dir, 10
	if _, _, err := Open(cfg); !errors.Is(err, ErrNoRoom) {
		t.Fatalf("got %v, want ErrNoRoom", err)
	}
	cfg.Frames = 150 // 2.4 MiB and the ring
	r, _ := mustOpen(t, cfg)
	hog := make([]byte, 2<<20)
	if err := os.WriteFile(dir+"/hog", hog, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := r.ReserveMore(); n != 10 || !errors.Is(err, ErrNoRoom) {
		t.Fatalf("reserve: got %d, %v, want ErrNoRoom", n, err)
	}
	if r.Reserved() != 10 || r.Frames() != 150 {
		t.Errorf("reserved %d of %d, want 10 of 150", r.Reserved(), r.Frames())
	}
	fill(r, 9)
	if err := os.Remove(dir + "/hog"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.ReserveMore(); err != nil || n != 150 {
		t.Fatalf("reserved %d, %v", n, err)
	}
	checkFilled(t, r, 9)
	fill(r, 149)
	mustClose(t, r)
}

func TestWarnsOfDisk(t *testing.T) {
	cfg, lines := testConfig(t, 10)
	cfg.Dir = t.TempDir()
	if isMemory(t, cfg.Dir) {
		t.Skip("the temporary directory is in memory")
	}
	r, _, err := Open(cfg)
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if got := lines.take(); len(got) != 1 || !strings.Contains(got[0], "neither tmpfs nor hugetlbfs") {
		t.Errorf("logged %q, want one warning", got)
	}
	live(t, cfg)
	if _, found := mustOpen(t, cfg); !found.FramesValid {
		t.Errorf("found %+v", found)
	}
}

func isMemory(t testing.TB, dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return st.Type == unix.TMPFS_MAGIC
}

func TestRefusesWhatIsNotOurs(t *testing.T) {
	cfg, _ := testConfig(t, 10)
	r, _ := mustOpen(t, cfg)
	path := r.Path()
	r.Remove()
	r.Close()
	if err := os.Symlink("/dev/null", path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("symlink: got %v", err)
	}
	os.Remove(path)
	if os.Geteuid() == 0 {
		os.WriteFile(path, nil, 0o600)
		os.Chown(path, 12345, 0)
		if _, _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "12345") {
			t.Errorf("foreign owner: got %v", err)
		}
		os.Remove(path)
	}
	os.WriteFile(path, nil, 0o644)
	mustOpen(t, cfg)
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", st.Mode())
	}
}

func TestBadConfig(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Frames = 0 },
		func(c *Config) { c.Frames = MaxFrames + 1 },
		func(c *Config) { c.RingBytes = 0 },
		func(c *Config) { c.RingBytes = RingUnit + 4096 },
		func(c *Config) { c.FirstFrames = -1 },
	} {
		cfg, _ := testConfig(t, 10)
		change(&cfg)
		if _, _, err := Open(cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
		if _, err := Plain(cfg); err == nil {
			t.Errorf("plain %+v: no error", cfg)
		}
	}
}

func TestPlain(t *testing.T) {
	cfg, lines := testConfig(t, 100)
	r, err := Plain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Survives() || r.Path() != "" {
		t.Errorf("survives %v, path %q", r.Survives(), r.Path())
	}
	checkFree(t, r)
	checkZeroRing(t, r)
	r.BeginAttach(1)
	r.Ready(1, 1)
	r.SetDurable(4096)
	for _, frames := range []int{100, 300, 50, 60} {
		for f := frames; f < r.Frames(); f++ {
			d := r.Desc(f)
			d.Begin()
			d.State.Store(StateFree)
			d.End(f)
		}
		if err := r.Resize(frames); err != nil {
			t.Fatal(err)
		}
		for f := range frames {
			fill(r, f)
		}
	}
	if err := r.ResizeRing(RingUnit); err != nil {
		t.Fatal(err)
	}
	for f := range 60 {
		checkFilled(t, r, f)
	}
	r.Discard(ReasonStaleIncarnation)
	checkFree(t, r)
	checkOneLine(t, lines, ReasonStaleIncarnation)
	if err := errors.Join(r.Remove(), r.Close()); err != nil {
		t.Error(err)
	}
	entries, _ := os.ReadDir(cfg.Dir)
	if len(entries) != 0 {
		t.Errorf("plain memory left %v", entries)
	}
}
