package datafile

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/file"
)

// Config says where the files are.
type Config struct {
	FS       file.FS
	Dir      string // of the database; its own name must be durable
	ReadOnly bool   // change no file; RestoreTorn mends in memory
	Logger   *slog.Logger
}

// Set is the data files of one database.
type Set struct {
	cfg        Config
	spaces     table
	mu         sync.Mutex // one Create, Remove or Close at a time
	dw         *doublewrite
	restored   atomic.Bool
	restore    atomic.Pointer[restore]      // set by RestoreTorn
	suspicious atomic.Bool                  // some pages may be torn: ask restore
	stopped    atomic.Pointer[StoppedError] // rule 6
	sched      *scheduler
	counters   [classes]counters
	gov        *governor
	turnstile  chan struct{} // held by the one load that asks the governor
	syncs      struct{ files, doublewrite syncCounter }
}

const spacesDir = "spaces"

// Open finds the files of all spaces. It opens none: that is done at the first use.
func Open(cfg Config) (*Set, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Set{cfg: cfg, sched: newScheduler()}
	s.gov, s.turnstile = newGovernor(&s.counters, s.sched), make(chan struct{}, 1)
	s.dw = newDoublewrite(s)
	dir := filepath.Join(cfg.Dir, spacesDir)
	if !cfg.ReadOnly {
		if err := s.makeDir(dir); err != nil {
			return nil, fmt.Errorf("make the directory of the data files: %w", err)
		}
	}
	entries, err := cfg.FS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the data files: %w", err)
	}
	for _, e := range entries {
		no, ok := spaceOf(e.Name())
		if !ok || e.IsDir() {
			cfg.Logger.Warn("not a data file, left alone", "file", filepath.Join(dir, e.Name()))
			continue
		}
		s.spaces.set(no, s.newSpace(no))
	}
	return s, nil
}

// makeDir syncs also when the directory is there: the process that made it may have died before it could.
func (s *Set) makeDir(dir string) error {
	if err := s.cfg.FS.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return s.cfg.FS.SyncDir(s.cfg.Dir)
}

// spaceOf takes the number out of a file name, which must be written exactly as we write it.
func spaceOf(name string) (uint32, bool) {
	var no uint32
	if _, err := fmt.Sscanf(name, "%08x.hs", &no); err != nil || name != nameOf(no) {
		return 0, false
	}
	return no, true
}

func nameOf(no uint32) string { return fmt.Sprintf("%08x.hs", no) }

// Create makes the file of a space, empty, and its name durable. A file that is there already is fs.ErrExist.
func (s *Set) Create(no uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.newSpace(no)
	if err := sp.create(); err != nil {
		return fmt.Errorf("create space %d: %w", no, err)
	}
	s.spaces.set(no, sp)
	if err := s.cfg.FS.SyncDir(filepath.Dir(sp.name)); err != nil {
		return fmt.Errorf("create space %d: %w", no, err)
	}
	return nil
}

// Remove deletes the file of a space for good. Operations on it that run end well or with ErrNoSpace.
func (s *Set) Remove(no uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.spaces.get(no)
	if sp == nil {
		return ErrNoSpace{no}
	}
	// First nobody finds it any more, then those who have found it cannot open it, and only then its name goes: whoever
	// meets an error on the way sees that it was removed.
	s.spaces.set(no, nil)
	sp.close()
	if err := s.cfg.FS.Remove(sp.name); err != nil {
		s.spaces.set(no, s.newSpace(no)) // the file is still there
		return fmt.Errorf("remove space %d: %w", no, err)
	}
	if err := s.cfg.FS.SyncDir(filepath.Dir(sp.name)); err != nil {
		return s.stop(fmt.Errorf("remove space %d: %w", no, err)) // rule 9: the file may come back, its pages never
	}
	return nil
}

// Spaces is the number of every space that has a file, ascending.
func (s *Set) Spaces() []uint32 {
	var list []uint32
	s.spaces.all(func(sp *space) { list = append(list, sp.no) })
	return list
}

// Close closes the files. Nothing else may run.
func (s *Set) Close() error {
	if r := s.restore.Load(); r != nil {
		<-r.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	s.spaces.all(func(sp *space) { errs = append(errs, sp.close()) })
	errs = append(errs, s.dw.close())
	return errors.Join(errs...)
}

// find is the open file of a space.
func (s *Set) find(no uint32) (*space, file.File, error) {
	sp := s.spaces.get(no)
	if sp == nil {
		return nil, nil, ErrNoSpace{no}
	}
	f, err := sp.open()
	return sp, f, err
}

// with does something with the open file of a space. ErrNoSpace from it means that the space is gone for good (rule 9).
func (s *Set) with(no uint32, do func(sp *space, f file.File) error) error {
	for {
		sp, f, err := s.find(no)
		if err == nil {
			err = do(sp, f)
		}
		if err == nil || !errors.As(err, new(ErrNoSpace)) && !sp.wasRemoved(err) {
			return err
		}
		s.mu.Lock() // held as long as a removal is under way
		now := s.spaces.get(no)
		s.mu.Unlock()
		if stopped := s.stopped.Load(); stopped != nil {
			return stopped
		}
		switch now {
		case nil:
			return ErrNoSpace{no}
		case sp:
			return err // it was not removed, the set is closed
		}
	}
}

// stop is rule 6. The first cause stays.
func (s *Set) stop(cause error) error {
	if s.stopped.CompareAndSwap(nil, &StoppedError{Cause: cause}) {
		s.cfg.Logger.Error("writing to the data files has stopped", "cause", cause)
	}
	return s.stopped.Load()
}
