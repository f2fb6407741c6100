// Package check proves a database sound: every page of every file, and what the pages say of each other.
//
// It knows the layouts of pages, trees' fences, versions and bitmaps, and reads pages through a pool over an open database
// that nobody else uses. It does not know how damage is mended.
//
// # What it proves
//
//  1. Every page in a file is whole: checksum, id, kind.
//  2. A tree's pages are as page.Check wants them, its levels fall by one, the fences of children tile their parent's, and
//     every key lies between its page's fences.
//  3. Every entry is a version by a transaction whose id was given out; with nobody active, none is deleted, and every large
//     value's chain has its length.
//  4. A page is in use by exactly one owner if its bit is set, and by none if it is not; pages beyond the last bitmap are
//     not written.
//  5. Undo logs are chains of undo pages from head to tail, whose records make sense.
//  6. Every catalog entry has a file, every file a catalog entry.
//
// Findings are one line each, "space S page P: what", in the order of spaces and pages.
package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/space"
	"github.com/hearthdb/hearth/internal/txn"
)

// Input is an open database at rest: no transaction is active, nothing waits for rollback or purge.
type Input struct {
	Pool     *pool.Pool
	Files    *datafile.Set
	Trees    map[uint32]string // space → name of the tree, as the catalog says
	Progress func(space uint32, pages int)
}

// maxProblems is how many findings a check reports before it gives up: a damaged page can cause many.
const maxProblems = 1000

// run is one check under way.
type run struct {
	Input
	ctx      context.Context
	ids      uint64 // transaction ids end here
	problems []string
}

func (r *run) bad(id page.ID, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("space %d page %d: %s", id.Space(), id.No(), fmt.Sprintf(format, args...)))
	}
}

// Run checks everything and returns the findings. An error means that the check itself could not go on.
func Run(ctx context.Context, in Input) ([]string, error) {
	r := &run{Input: in, ctx: ctx}
	have := in.Files.Spaces()
	slices.Sort(have)
	r.catalog(have)
	nextSpace, err := r.undo()
	if err != nil {
		return r.problems, err
	}
	for _, no := range have {
		if err := r.file(no); err != nil {
			return r.problems, err
		}
		if no >= nextSpace && no >= txn.FirstUserSpace {
			r.bad(page.MakeID(no, 0), "spaces end at %d", nextSpace)
		}
		if no == txn.UndoSpace {
			continue
		}
		if err := r.tree(no); err != nil {
			return r.problems, err
		}
	}
	return r.problems, nil
}

// catalog holds the names against the files.
func (r *run) catalog(have []uint32) {
	for _, no := range have {
		if _, named := r.Trees[no]; !named && no >= txn.FirstUserSpace {
			r.bad(page.MakeID(no, 0), "the file %s belongs to no tree", r.Files.Path(no))
		}
	}
	for _, no := range append(mapKeys(r.Trees), txn.UndoSpace, txn.CatalogSpace) {
		if !slices.Contains(have, no) {
			r.bad(page.MakeID(no, 0), "the file %s of tree %q is missing", r.Files.Path(no), r.Trees[no])
		}
	}
}

func mapKeys(m map[uint32]string) []uint32 {
	var keys []uint32
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// file reads every page of a file from the disk, behind the pool's back.
func (r *run) file(no uint32) error {
	n, err := r.Files.Pages(no)
	if err != nil {
		return err
	}
	p := (*page.Page)(file.AlignedBuf(page.Size))
	for i := range n {
		if i%1024 == 0 {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if r.Progress != nil {
				r.Progress(no, int(i))
			}
		}
		id := page.MakeID(no, uint32(i))
		if err := r.Files.ReadPage(r.ctx, id, p, datafile.ClassReadAhead); err != nil {
			r.bad(id, "in the file: %v", err)
			continue
		}
		if err := p.Verify(id); err != nil {
			r.bad(id, "in the file: %v", err)
		}
	}
	return nil
}

// read copies a page as the pool has it.
func (r *run) read(id page.ID, p *page.Page) bool {
	g := r.Pool.BeginRead(r.ctx)
	defer g.Abort()
	h, err := g.Fetch(id, pool.Shared)
	if err != nil {
		r.bad(id, "%v", err)
		return false
	}
	*p = *h.Page
	if err := p.Check(id); err != nil {
		r.bad(id, "%v", err)
		return false
	}
	return true
}

// bitmaps holds the pages in use against the bits. used says which pages have an owner.
func (r *run) bitmaps(no uint32, used map[uint32]bool) {
	var p page.Page
	first := uint32(0)
	for ; ; first += space.BitmapSpan {
		id := page.MakeID(no, first+1)
		if !r.read(id, &p) {
			return
		}
		if p.Kind() == page.KindZero && first > 0 {
			break
		}
		if p.Kind() != page.KindBitmap {
			r.bad(id, "it is a %v page, want a bitmap", p.Kind())
			return
		}
		used[first], used[first+1] = true, true
		for bit := range page.BitmapBits {
			at := first + uint32(bit)
			switch set, owned := p.Bit(bit), used[at]; {
			case set && !owned:
				r.bad(page.MakeID(no, at), "in use, but nothing leads to it")
			case !set && owned:
				r.bad(page.MakeID(no, at), "part of the space, but marked free")
			}
		}
	}
	for at := range used {
		if at >= first {
			r.bad(page.MakeID(no, at), "part of the space, but beyond its last bitmap")
		}
	}
}
