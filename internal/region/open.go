package region

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/page"
)

// Found is what Open came upon.
type Found struct {
	Fresh       bool   // nothing of a former life is in the region
	Why         Reason // why contents were thrown away; empty when they were kept or there were none
	OldFrames   int    // frames of the surviving pool; may differ from Config.Frames
	FramesValid bool   // the descriptors may be examined
	RingValid   bool   // the ring may be finished into the log; its length may differ from Config.RingBytes
	Durable     page.LSN
	Incarnation uint64 // of the last life that got ready
	LifeNonce   uint64 // of the last life that got ready
	AttachNonce uint64 // of the last life that tried
	Clean       bool
	Attempts    int // attaches since a life got ready
	// Short is why the pool has as many frames as survived, and not the larger number that is wanted.
	Short error
}

// Open attaches to the region of a former life, or makes a fresh one. The pool then has Config.Frames frames,
// or as many as survived if they were more, or if there is no room for more (Found.Short): what survived is worth
// more than the size. There is a fresh region only if there is room for all of it.
func Open(cfg Config) (*Region, Found, error) {
	if err := cfg.validate(); err != nil {
		return nil, Found{}, err
	}
	if cfg.BootID == [16]byte{} {
		id, err := kernelBootID()
		if err != nil {
			return nil, Found{}, err
		}
		cfg.BootID = id
	}
	r := &Region{
		path: filepath.Join(cfg.Dir, fmt.Sprintf("hearth-%x.region", cfg.UUID)),
		log:  cfg.Logger, smallPages: cfg.SmallPages,
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	f, err := openLocked(r.path)
	if err != nil {
		return nil, Found{}, err
	}
	r.mem = memory{file: f, dir: cfg.Dir, granule: int64(os.Getpagesize())}
	found, err := r.open(cfg)
	if err != nil {
		r.mem.unmap()
		f.Close()
		return nil, Found{}, err
	}
	return r, found, nil
}

// Plain makes a region in anonymous memory: the same in all respects, but nothing survives.
func Plain(cfg Config) (*Region, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &Region{log: cfg.Logger}
	if r.log == nil {
		r.log = slog.Default()
	}
	r.mem = memory{granule: int64(os.Getpagesize())}
	if err := r.create(cfg); err != nil {
		r.mem.unmap()
		return nil, err
	}
	return r, nil
}

// open decides what becomes of the locked file.
func (r *Region) open(cfg Config) (Found, error) {
	if err := r.lookAtMount(); err != nil {
		return Found{}, err
	}
	size, err := r.mem.file.Seek(0, io.SeekEnd)
	if err != nil {
		return Found{}, fmt.Errorf("%s: size: %w", r.path, err)
	}
	if size == 0 {
		return Found{Fresh: true}, r.createFile(cfg)
	}
	st, why, detail, err := r.inspect(cfg, size)
	if err != nil {
		return Found{}, err
	}
	if why != "" {
		r.logThrownAway(why, detail)
		return Found{Fresh: true, Why: why}, r.createFile(cfg)
	}
	return r.attach(cfg, st)
}

// inspect reads the header of a file that may be anything.
func (r *Region) inspect(cfg Config, size int64) (state, Reason, string, error) {
	b := make([]byte, headerRead)
	if _, err := r.mem.file.ReadAt(b, 0); err != nil && err != io.EOF {
		return state{}, "", "", fmt.Errorf("%s: read the header: %w", r.path, err)
	}
	st, why, detail := decodeHeader(b, identity{uuid: cfg.UUID, bootID: cfg.BootID})
	if why != "" {
		return state{}, why, detail, nil
	}
	if end := frameOffset + int64(st.frames)*page.Size; size < end {
		return state{}, ReasonDamagedHeader, fmt.Sprintf("file is %d bytes, %d frames want %d", size, st.frames, end), nil
	}
	if st.attempts >= 2*MaxAttempts {
		return state{}, ReasonThirdAttach, fmt.Sprintf("%d attaches, without the frames too", st.attempts), nil
	}
	// A death while growing or shrinking leaves more than the header counts (rule 5); it never leaves less.
	want := r.mem.roundUp(HeaderBytes+int64(st.ringBytes)) + r.mem.roundUp(int64(st.frames)*DescSize) +
		r.mem.roundUp(int64(st.frames)*page.Size)
	got, err := r.mem.reservedBytes()
	if err == nil && got > want {
		if err = r.giveBackTails(st); err == nil {
			got, err = r.mem.reservedBytes()
		}
	}
	if err != nil {
		return state{}, "", "", err
	}
	if got < want {
		return state{}, ReasonDamagedHeader, fmt.Sprintf("file holds %d bytes, its sizes want %d", got, want), nil
	}
	return st, "", "", nil
}

// giveBackTails releases what lies beyond the sizes in st.
func (r *Region) giveBackTails(st state) error {
	return errors.Join(
		r.mem.release(headWindow, HeaderBytes+int64(st.ringBytes), HeaderBytes+MaxRingBytes),
		r.mem.release(descWindow, int64(st.frames)*DescSize, MaxFrames*DescSize),
		r.mem.release(frameWindow, int64(st.frames)*page.Size, MaxFrames*page.Size))
}

// attach maps a region that passed inspect, and makes it empty as far as its state says so: a Discard, or a
// life that did not get ready, may have ended anywhere.
func (r *Region) attach(cfg Config, st state) (Found, error) {
	old := int(st.frames)
	if err := r.mapFor(max(old, cfg.Frames), max(cfg.RingBytes, int64(st.ringBytes))); err != nil {
		return Found{}, err
	}
	r.slots.now = st
	r.reserved.Store(int64(old))
	r.count.Store(int64(old))
	found := Found{Fresh: true}
	if st.flags&flagRing != 0 {
		found = Found{
			OldFrames:   old,
			FramesValid: st.flags&flagFrames != 0,
			RingValid:   true,
			Durable:     st.durable,
			Incarnation: st.incarnation,
			LifeNonce:   st.lifeNonce,
			AttachNonce: st.attachNonce,
			Clean:       st.flags&flagClean != 0,
			Attempts:    int(st.attempts),
		}
	}
	switch {
	case found.FramesValid && st.attempts >= MaxAttempts:
		r.Discard(ReasonThirdAttach)
		found.Why, found.FramesValid, found.Clean = ReasonThirdAttach, false, false
	case !found.FramesValid:
		r.describe(0, old)
	}
	if !found.RingValid {
		clear(r.Ring())
		if err := r.ResizeRing(cfg.RingBytes); err != nil {
			return Found{}, err
		}
	}
	switch {
	case old < cfg.Frames:
		err := r.grow(cfg.Frames, max(old, cfg.first()))
		if errors.Is(err, ErrNoRoom) {
			found.Short, err = err, nil
		}
		return found, err
	case old > cfg.Frames && !found.FramesValid:
		return found, r.shrink(cfg.Frames)
	}
	return found, nil
}

// createFile makes a fresh region in the locked file, whatever it held. When that fails, no file stays to
// take up memory.
func (r *Region) createFile(cfg Config) error {
	err := r.mem.file.Truncate(0)
	if err == nil {
		err = r.create(cfg)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("create the region: %w", err), os.Remove(r.path))
	}
	return nil
}

func (r *Region) create(cfg Config) error {
	if err := r.mapFor(cfg.Frames, cfg.RingBytes); err != nil {
		return err
	}
	first := cfg.first()
	if err := r.mem.room(HeaderBytes + cfg.RingBytes + int64(cfg.Frames)*(DescSize+page.Size)); err != nil {
		return err
	}
	if err := r.mem.reserve(headWindow, 0, HeaderBytes+cfg.RingBytes); err != nil {
		return err
	}
	// The state comes ahead of what it counts, for once: without the magic nobody reads it (rule 6).
	empty := func(s *state) { s.frames, s.ringBytes = uint64(first), uint64(cfg.RingBytes) }
	r.update(empty)
	r.update(empty) // both slots
	if err := r.grow(cfg.Frames, first); err != nil {
		return err
	}
	h := r.mem.windows[headWindow]
	encodeStatic(h, identity{uuid: cfg.UUID, bootID: cfg.BootID})
	word(h, 0).Store(magicWord)
	return nil
}

// mapFor maps windows for at least that many frames and ring bytes. The pool can grow later to what the
// mount, or the machine, could ever hold.
func (r *Region) mapFor(count int, ringBytes int64) error {
	most, err := r.mem.ceiling()
	if err != nil {
		return err
	}
	room := max(int64(count), min(MaxFrames, most/page.Size))
	if err := r.mem.mapWindows(HeaderBytes+ringBytes, room*DescSize, room*page.Size); err != nil {
		return err
	}
	r.views()
	return nil
}

// lookAtMount learns the unit of reservation, and warns of a memory-dir that is not memory.
func (r *Region) lookAtMount() error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(r.mem.file.Fd()), &st); err != nil {
		return fmt.Errorf("%s: statfs: %w", r.path, err)
	}
	switch uint64(st.Type) {
	case unix.TMPFS_MAGIC:
	case unix.HUGETLBFS_MAGIC:
		r.mem.granule = st.Bsize
	default:
		r.log.Warn("memory-dir is neither tmpfs nor hugetlbfs: the pool will be as slow as that disk",
			"dir", r.mem.dir, "type", fmt.Sprintf("%#x", st.Type))
	}
	return nil
}

// openTries bounds the race with others that create and remove the same file; each round somebody got on.
const openTries = 100

// openLocked opens or creates the file and locks it. Only a file of our own is taken: in a directory for
// everybody, somebody else's could change under our feet.
func openLocked(path string) (*os.File, error) {
	for range openTries {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err == unix.ENOENT {
			fd, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_CREAT|unix.O_EXCL, 0o600)
		}
		if err == unix.EEXIST || err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		f := os.NewFile(uintptr(fd), path)
		ours, err := lockAndCompare(f)
		if err == nil && ours {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: the file was replaced %d times while it was being locked", path, openTries)
}

// dyingWait is how long a locked file is waited for: a process that was killed is gone for its parent before its lock is, when
// somebody looks at its memory at that moment (a monitor that reads its smaps) and so keeps the mapped file open.
const (
	dyingWait = time.Second
	dyingPoll = 2 * time.Millisecond
)

// lockAndCompare locks f and tells whether its path still names it: the holder before may have removed it.
func lockAndCompare(f *os.File) (bool, error) {
	fd := int(f.Fd())
	err := flock(fd)
	for end := time.Now().Add(dyingWait); err == unix.EWOULDBLOCK && time.Now().Before(end); err = flock(fd) {
		time.Sleep(dyingPoll)
	}
	if err == unix.EWOULDBLOCK {
		return false, fmt.Errorf("%w: %s is locked by another process", ErrInUse, f.Name())
	} else if err != nil {
		return false, fmt.Errorf("%s: lock: %w", f.Name(), err)
	}
	var mine, named unix.Stat_t
	if err := unix.Fstat(fd, &mine); err != nil {
		return false, fmt.Errorf("%s: stat: %w", f.Name(), err)
	}
	if err := unix.Lstat(f.Name(), &named); err != nil {
		if err == unix.ENOENT {
			return false, nil
		}
		return false, fmt.Errorf("%s: stat: %w", f.Name(), err)
	}
	if mine.Dev != named.Dev || mine.Ino != named.Ino {
		return false, nil
	}
	if mine.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, fmt.Errorf("%s: is not a regular file: remove it", f.Name())
	}
	if int(mine.Uid) != os.Geteuid() {
		return false, fmt.Errorf("%s: belongs to user %d, the server runs as %d: remove the file", f.Name(), mine.Uid, os.Geteuid())
	}
	if mine.Mode&0o777 != 0o600 {
		if err := unix.Fchmod(fd, 0o600); err != nil {
			return false, fmt.Errorf("%s: chmod: %w", f.Name(), err)
		}
	}
	return true, nil
}

func flock(fd int) error {
	for {
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// bootIDFile holds a UUID the kernel draws at each boot.
const bootIDFile = "/proc/sys/kernel/random/boot_id"

func kernelBootID() (id [16]byte, err error) {
	text, err := os.ReadFile(bootIDFile)
	if err != nil {
		return id, fmt.Errorf("boot id: %w", err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("boot id: %s says %q, want a UUID", bootIDFile, text)
	}
	return [16]byte(b), nil
}
