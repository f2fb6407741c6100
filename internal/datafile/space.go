package datafile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

const (
	// minGrowth, in bytes, is the least a file grows by: most trees stay small, and there are many of them.
	minGrowth = 4 * page.Size
	// maxGrowth, in bytes, is the most: beyond it a larger extent gains nothing, and the disk may be nearly full.
	maxGrowth = 64 << 20
)

// space is one data file.
type space struct {
	set  *Set
	no   uint32
	name string
	file atomic.Pointer[file.File] // nil until the first use

	mu   sync.Mutex // guards what follows and the opening
	room int64      // the length of the file, once it is open
	gone bool       // removed, or the set is closed

	syncer syncer
}

func (s *Set) newSpace(no uint32) *space {
	return &space{set: s, no: no, name: filepath.Join(s.cfg.Dir, spacesDir, nameOf(no))}
}

func (sp *space) open() (file.File, error) {
	if f := sp.file.Load(); f != nil {
		return *f, nil
	}
	flag := file.ReadWrite
	if sp.set.cfg.ReadOnly {
		flag = file.ReadOnly
	}
	return sp.openAs(flag)
}

func (sp *space) create() error {
	_, err := sp.openAs(file.ReadWrite | file.Create | file.Exclusive)
	return err
}

func (sp *space) openAs(flag file.OpenFlag) (file.File, error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.gone {
		return nil, ErrNoSpace{sp.no}
	}
	if f := sp.file.Load(); f != nil {
		return *f, nil
	}
	f, err := sp.set.cfg.FS.OpenFile(sp.name, flag|file.Direct, 0o600)
	if err != nil {
		return nil, err
	}
	if sp.room, err = f.Size(); err != nil {
		f.Close()
		return nil, err
	}
	sp.file.Store(&f)
	return f, nil
}

func (sp *space) close() error {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.gone = true
	if f := sp.file.Load(); f != nil {
		return (*f).Close()
	}
	return nil
}

// grow takes room up to end. Growing ahead keeps the file in large pieces and most syncs free of metadata; when the
// disk has no room for that, what is needed must do.
func (sp *space) grow(f file.File, end int64) error {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if end <= sp.room {
		return nil
	}
	ahead := max(end, sp.room+min(max(sp.room/4, minGrowth), maxGrowth)) / page.Size * page.Size
	err := f.Allocate(sp.room, ahead-sp.room)
	if errors.Is(err, unix.ENOSPC) && ahead > end {
		ahead = end
		err = f.Allocate(sp.room, ahead-sp.room)
	}
	if err == nil {
		sp.room = ahead
	}
	return err
}

// wasRemoved says whether err only means that the space was removed meanwhile.
func (sp *space) wasRemoved(err error) bool {
	return sp != nil && errors.Is(err, fs.ErrClosed) && sp.set.spaces.get(sp.no) != sp
}

// syncer lets one Sync of a file run at a time. The kernel tells a failure once per open file: of two syncs at a time
// one might be told, and the other, whose bytes are lost as well, answer nil.
type syncer struct{ mu sync.Mutex }

func (y *syncer) sync(s *Set, f file.File, n *syncCounter) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	if stopped := s.stopped.Load(); stopped != nil {
		return stopped
	}
	begun := time.Now()
	err := f.Sync()
	n.calls.Add(1)
	n.nanos.Add(int64(time.Since(begun)))
	if err == nil || errors.Is(err, fs.ErrClosed) {
		return err
	}
	return s.stop(err)
}
