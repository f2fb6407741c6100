package datafile

import (
	"errors"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// TestGoneWaitsForTheName: a page of a space that is being removed is done with only when the file cannot come back. A checkpoint that
// passed it earlier would leave, after a power cut, a file that the log does not fit.
func TestGoneWaitsForTheName(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	id := page.MakeID(1, 2)
	removing, goOn := make(chan struct{}), make(chan struct{})
	m.OnOp(func(op file.Op) error {
		if op.Kind == file.OpSyncDir {
			close(removing)
			<-goOn
		}
		return nil
	})
	removed, written := make(chan error, 1), make(chan error, 1)
	go func() { removed <- s.Remove(1) }()
	<-removing
	go func() { written <- s.WritePages(ctx, writes(1, id)) }()
	select {
	case err := <-written:
		t.Errorf("WritePages returned %v while a power cut could bring the file back", err)
	case <-time.After(100 * time.Millisecond): // a write that does not wait may be missed, one that waits is never blamed
	}
	close(goOn)
	must(t, <-removed)
	if err := <-written; !errors.Is(err, ErrNoSpace{1}) {
		t.Errorf("WritePages after the removal: %v", err)
	}
	m.OnOp(nil)
}

// TestFailedRemoval: when the file cannot be removed its pages are written as ever; when its name may come back nothing is any more.
func TestFailedRemoval(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	must(t, s.Create(2))
	id := page.MakeID(1, 2)
	broken := errors.New("broken")
	failing := func(kind file.OpKind) {
		m.OnOp(func(op file.Op) error {
			if op.Kind == kind {
				return broken
			}
			return nil
		})
	}
	failing(file.OpRemove)
	if err := s.Remove(1); !errors.Is(err, broken) {
		t.Errorf("Remove: %v", err)
	}
	m.OnOp(nil)
	must(t, s.WritePages(ctx, writes(1, id)))
	if got := versionAt(t, s, id); got != 1 {
		t.Errorf("version %d of a page written after a removal that failed, want 1", got)
	}
	failing(file.OpSyncDir)
	if err := s.Remove(1); !errors.Is(err, broken) {
		t.Errorf("Remove: %v", err)
	}
	m.OnOp(nil)
	for _, no := range []uint32{1, 2} {
		if err := s.WritePages(ctx, writes(2, page.MakeID(no, 2))); !errors.As(err, new(*StoppedError)) {
			t.Errorf("WritePages to space %d after the removal of space 1 is in doubt: %v", no, err)
		}
	}
}
