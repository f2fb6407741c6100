package hearth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
)

// TestCloseBesideALoser: a page of a transaction that was open at the death cannot be read. Its rollback is tried again and again, and the
// removal of a file that no tree owns waits for it; who closes the database does not, and the next start, with a disk that answers, does both.
func TestCloseBesideALoser(t *testing.T) {
	ctx := context.Background()
	disk := file.NewMem(1)
	opts := dirtyOptions(disk)
	opts.Durability = DurabilityCommit
	db, err := Open(ctx, memDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	create := func(tx *Tx, name string) error {
		tree, err := tx.CreateTree(name)
		for i := 0; err == nil && i < 500; i++ {
			err = tree.Put(fmt.Appendf(nil, "%06d", i), []byte(strings.Repeat("x", 200)))
		}
		return err
	}
	spaces := func() (names []string) {
		entries, err := disk.ReadDir(memDir + "/spaces")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, memDir+"/spaces/"+e.Name())
		}
		return names
	}
	before := spaces()
	loser, err := db.Begin(ctx, TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := create(loser, "lost"); err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, name := range spaces() {
		if !slices.Contains(before, name) {
			lost = append(lost, name)
		}
	}
	if len(lost) != 1 {
		t.Fatalf("a tree is in the files %q, want one", lost)
	}
	if err := db.Update(ctx, func(tx *Tx) error { return create(tx, "kept") }); err != nil { // its commit brings the log of both to the disk
		t.Fatal(err)
	}
	crashed := disk.Clone(file.DropUnsynced)
	if err := errors.Join(loser.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}

	orphan := memDir + "/spaces/00ffffff.hs"
	f, err := crashed.OpenFile(orphan, file.ReadWrite|file.Create, 0o600)
	if err := errors.Join(err, f.Close(), crashed.SyncDir(memDir+"/spaces")); err != nil {
		t.Fatal(err)
	}
	var failed atomic.Int64
	crashed.OnOp(func(op file.Op) error {
		if op.Kind == file.OpRead && op.Name == lost[0] {
			failed.Add(1)
			return errors.New("the disk does not answer")
		}
		return nil
	})
	if db, err = Open(ctx, memDir, dirtyOptions(crashed)); err != nil {
		t.Fatal(err)
	}
	<-db.redone
	if n := db.txns.Losers(); n != 1 {
		t.Errorf("%d transactions are to be rolled back, want 1", n)
	}
	watch("Close beside a loser", func() { _ = db.Close() }) // what could not be redone is an error, or was none of its pages
	if failed.Load() == 0 {
		t.Fatal("nothing of the tree was read: this shows nothing")
	}

	crashed.OnOp(nil)
	if db, err = Open(ctx, memDir, dirtyOptions(crashed)); err != nil {
		t.Fatal(err)
	}
	awaitRedo(t, db)
	if _, err := crashed.OpenFile(orphan, file.ReadOnly, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that no tree owns: %v", err)
	}
	err = db.View(ctx, func(tx *Tx) error {
		if _, err := tx.Tree("lost"); !errors.Is(err, ErrTreeNotFound) {
			return fmt.Errorf("the tree of a transaction that never committed: %v", err)
		}
		tree, err := tx.Tree("kept")
		if err != nil {
			return err
		}
		_, err = tree.Get([]byte("000499"))
		return err
	})
	if err := errors.Join(err, checkSound(ctx, db), db.Close()); err != nil {
		t.Error(err)
	}
}
