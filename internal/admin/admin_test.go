package admin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/admin"
	"github.com/hearthdb/hearth/internal/heat"
)

// served opens a database with a row and serves it, and returns its directory and how to end that.
func served(t *testing.T, dir string) (db *hearth.DB, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	db, err := hearth.Open(ctx, dir, &hearth.Options{PoolSize: hearth.MinPoolSize, Memory: hearth.MemoryOff, HeatDumpInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(ctx, func(tx *hearth.Tx) error {
		tree, err := tx.CreateTree("t")
		if errors.Is(err, hearth.ErrTreeExists) {
			tree, err = tx.Tree("t")
		}
		if err != nil {
			return err
		}
		return tree.Put([]byte("k"), []byte("v"))
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- db.ServeAdmin(ctx) }()
	c := admin.Client{Dir: dir}
	for wait := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err = c.Status(ctx); err == nil {
			break
		}
		if !errors.Is(err, admin.ErrNotRunning) || time.Now().After(wait) {
			t.Fatal(err)
		}
	}
	return db, func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("ServeAdmin: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnotherProcessMaySteer(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	c := admin.Client{Dir: dir}
	if _, err := c.Status(ctx); !errors.Is(err, admin.ErrNotRunning) {
		t.Fatalf("nobody serves: got %v, want ErrNotRunning", err)
	}
	_, end := served(t, dir)
	dump, err := c.Dump(ctx, heat.DumpOptions{})
	if err != nil || dump.Pages == 0 {
		t.Fatalf("dump: %+v, %v", dump, err)
	}
	if _, err := os.Stat(dump.File); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(ctx, heat.LoadOptions{Path: dump.File}); err != nil {
		t.Fatal(err)
	}
	for wait := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s, err := c.Status(ctx)
		if err != nil || time.Now().After(wait) {
			t.Fatalf("status: %+v, %v", s, err)
		}
		if s.State == heat.StateDone {
			if s.Present != dump.Pages {
				t.Errorf("%d pages were there already, want all %d", s.Present, dump.Pages)
			}
			break
		}
	}
	for name, call := range map[string]func(context.Context) (heat.Status, error){"pause": c.Pause, "resume": c.Resume, "cancel": c.Cancel} {
		if _, err := call(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Load(ctx, heat.LoadOptions{Path: filepath.Join(dir, "no such file")}); err == nil {
		t.Error("a dump that is not there was loaded")
	}
	end()
	if _, err := c.Status(ctx); !errors.Is(err, admin.ErrNotRunning) {
		t.Fatalf("nobody serves any more: got %v, want ErrNotRunning", err)
	}
}

// The socket is its owner's alone, and one that a dead process left is in nobody's way.
func TestSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, admin.SocketName)
	for range 2 {
		_, end := served(t, dir)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode %o, want 600", got)
		}
		end()
		if err := os.WriteFile(path, nil, 0o600); err != nil { // as if left behind
			t.Fatal(err)
		}
	}
}
