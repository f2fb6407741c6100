// Package testbed puts a pool on real parts for the tests of the packages above it: a region of plain memory,
// a log and data files on the in-memory disk. It knows nothing of recovery; nothing outside tests imports it.
package testbed

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/wal"
)

// Bed is a pool with everything below it.
type Bed struct {
	Pool  *pool.Pool
	Log   *wal.Log
	Files *datafile.Set
	Disk  *file.Mem
}

// New makes a bed whose pool has that many frames; it is torn down when the test ends.
func New(tb testing.TB, frames int) *Bed {
	tb.Helper()
	disk := file.NewMem(1)
	must(tb, disk.MkdirAll("/db/log", 0o700))
	return on(tb, disk, frames)
}

// Reopen makes another bed over what has reached the files, with a new log.
func (b *Bed) Reopen(tb testing.TB, frames int) *Bed {
	tb.Helper()
	disk := b.Disk.Clone(file.KeepAll)
	names, err := disk.ReadDir("/db/log")
	must(tb, err)
	for _, n := range names {
		must(tb, disk.Remove("/db/log/"+n.Name()))
	}
	return on(tb, disk, frames)
}

func on(tb testing.TB, disk *file.Mem, frames int) *Bed {
	tb.Helper()
	files, err := datafile.Open(datafile.Config{FS: disk, Dir: "/db"})
	must(tb, err)
	must(tb, files.RestoreTorn())
	_, err = files.Torn(context.Background()) // what a test damages from now on stays so
	must(tb, err)
	r, err := region.Plain(region.Config{RingBytes: 8 << 20, Frames: frames})
	must(tb, err)
	l, err := wal.Open(wal.Config{FS: disk, Dir: "/db/log", SegmentBytes: 4 << 20, Ring: r.Ring(), Incarnation: 1, Start: wal.FirstLSN})
	must(tb, err)
	p, err := pool.New(pool.Config{Region: r, Log: l, Source: source{files}, Logger: slog.New(slog.DiscardHandler)})
	must(tb, err)
	tb.Cleanup(func() {
		p.Close()
		must(tb, l.Close())
		must(tb, files.Close())
		must(tb, r.Close())
	})
	return &Bed{p, l, files, disk}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// source is files without recovery: what cannot be read cannot be had.
type source struct{ files *datafile.Set }

func (s source) ReadPage(ctx context.Context, id page.ID, p *page.Page, _ pool.Class) (page.LSN, error) {
	if err := s.files.ReadPage(ctx, id, p, datafile.ClassMiss); err != nil {
		return 0, err
	}
	return 0, p.Verify(id)
}

func (s source) ReadPages(ctx context.Context, id page.ID, pages []*page.Page, reads []pool.Read, _ pool.Class) error {
	if err := s.files.ReadPages(ctx, id, pages, datafile.ClassMiss); err != nil {
		if errors.As(err, new(datafile.ErrNoSpace)) {
			return pool.ErrGone
		}
		return err
	}
	for i, p := range pages {
		if p != nil {
			reads[i].Err = p.Verify(id + page.ID(i))
		}
	}
	return nil
}

func (s source) Repair(ctx context.Context, id page.ID, p *page.Page) (page.LSN, error) {
	return s.ReadPage(ctx, id, p, pool.ClassMiss)
}

func (s source) WritePages(ctx context.Context, writes []pool.Write) error {
	out := make([]datafile.Write, len(writes))
	for i, w := range writes {
		out[i] = datafile.Write(w)
	}
	return s.files.WritePages(ctx, out)
}
