// Package space knows which pages of a space are in use.
//
// A space is a file of pages with one owner (a tree, or the undo logs). Page 0 is its header,
// page 1 and every BitmapSpan-th page behind it a bitmap, page 2 the owner's first page. It
// knows bitmaps and groups; it does not know what its owner keeps in the pages, nor how files
// grow: a page beyond the end of the file is a page of zeroes.
//
// # Rules
//
//  1. A bit is set in the same group that first formats its page, and cleared in the group
//     that formats it free: after any crash the bitmap and the pages agree.
//  2. What can fail (reading a bitmap, finding a frame) happens in Reserve and PrepareFree,
//     before the group's first edit; Take and Free cannot fail.
//  3. Bitmap pages are latched last, in ascending order.
//
// # Header page, from byte 24
//
//	24 owner u32  Kind of owner
//	28 zero  u32
//	32 made  u64  reserved
package space

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

const (
	// BitmapSpan is how many pages one bitmap page speaks for, itself among them: 2 GiB of file.
	BitmapSpan = page.BitmapBits
	// FirstOwned is the page that Create formats for the owner.
	FirstOwned = 2
	// MaxPages of a space: the page number has 32 bits and 0 means none; 64 TiB of file.
	MaxPages = 1<<32 - BitmapSpan
)

// Owner says what a space is for.
type Owner uint32

const (
	OwnerTree Owner = 1
	OwnerUndo Owner = 2
)

// ErrFull is returned when a space has no page numbers left.
type ErrFull struct{ Space uint32 }

func (e ErrFull) Error() string {
	return fmt.Sprintf("space %d is full: it has all of its %d pages in use", e.Space, int64(MaxPages))
}

// Space gives pages out and takes them back.
type Space struct {
	pool *pool.Pool
	no   uint32
	hint atomic.Uint32 // where the search for free pages begins; a guess
}

// Open is the space with that number, which Create made.
func Open(p *pool.Pool, no uint32) *Space {
	s := &Space{pool: p, no: no}
	s.hint.Store(FirstOwned + 1)
	return s
}

// No is the space's number.
func (s *Space) No() uint32 { return s.no }

// ID of a page of the space.
func (s *Space) ID(no uint32) page.ID { return page.MakeID(s.no, no) }

// Create formats a new space's header, first bitmap and, by first, its owner's first page, in one group.
func Create(ctx context.Context, p *pool.Pool, no uint32, owner Owner, first func(g *pool.Group, h *pool.Held)) (*Space, error) {
	s := Open(p, no)
	g := p.Begin(ctx)
	var held [3]*pool.Held
	for i := range held {
		h, err := g.Fresh(s.ID(uint32(i)))
		if err != nil {
			g.Abort()
			return nil, fmt.Errorf("create space %d: %w", no, err)
		}
		held[i] = h
	}
	g.Edit(held[0], page.AppendFormat(nil, page.KindSpace))
	g.Edit(held[0], page.AppendWrite(nil, 24, binary.LittleEndian.AppendUint32(nil, uint32(owner))))
	g.Edit(held[1], page.AppendFormat(nil, page.KindBitmap))
	g.Edit(held[1], page.AppendBits(nil, 0, FirstOwned+1, true))
	first(g, held[2])
	_, err := g.Commit()
	return s, err
}

// bitmapOf is the bitmap page that speaks for a page, and the page's bit in it.
func bitmapOf(no uint32) (bitmap uint32, bit int) {
	first := no / BitmapSpan * BitmapSpan
	return first + 1, int(no - first)
}

// Reservation is a set of free pages, found and latched by a group that has not taken them yet.
type Reservation struct {
	s     *Space
	g     *pool.Group
	pages []reserved
	taken int
}

type reserved struct {
	bitmap *pool.Held
	bit    int
	fresh  *pool.Held
	format bool // the bitmap page is new itself
}

// Reserve finds n free pages, near a page if it can (0: anywhere), and gets them frames, without editing anything.
func (s *Space) Reserve(g *pool.Group, n int, near uint32) (*Reservation, error) {
	r := &Reservation{s: s, g: g, pages: make([]reserved, 0, n)}
	start := s.hint.Load()
	if near != 0 && near/BitmapSpan == start/BitmapSpan {
		start = near + 1
	}
	span := start / BitmapSpan
	at := int(start - span*BitmapSpan)
	wrapped := false
	for len(r.pages) < n {
		first := span * BitmapSpan
		if uint64(first) >= MaxPages {
			return nil, ErrFull{s.no}
		}
		h, err := g.Fetch(s.ID(first+1), pool.Exclusive)
		if err != nil {
			return nil, err
		}
		isNew := h.Page.Kind() == page.KindZero
		if !isNew && h.Page.Kind() != page.KindBitmap {
			return nil, &page.CorruptError{Page: h.ID, What: fmt.Sprintf("it is a %v page, want a bitmap", h.Page.Kind())}
		}
		if isNew {
			at = max(at, 2)
		}
		for len(r.pages) < n {
			if at < page.BitmapBits {
				at = h.Page.NextClear(at)
			} else {
				at = -1
			}
			if at < 0 {
				break
			}
			if isNew && at < 2 { // the bitmap's own pair of bits, set when it is formatted
				at = 2
			}
			f, err := g.Fresh(s.ID(first + uint32(at)))
			if err != nil {
				return nil, err
			}
			r.pages = append(r.pages, reserved{h, at, f, isNew && len(r.pages) == 0 || isNew && r.pages[len(r.pages)-1].bitmap != h})
			at++
		}
		if len(r.pages) == n {
			break
		}
		// This bitmap is used up from the starting point on. Once round the first half of it, then onward:
		// bitmaps are taken in ascending order, so a group never waits for a lower one.
		if !wrapped && len(r.pages) == 0 {
			wrapped, at = true, FirstOwned
			continue
		}
		span, at, wrapped = span+1, 0, true
	}
	return r, nil
}

// Take takes the next reserved page: latched exclusively, to be formatted by the caller's next edit of it.
func (r *Reservation) Take() *pool.Held {
	if r.taken == len(r.pages) {
		panic(fmt.Sprintf("BUG: take of page %d of a reservation of %d", r.taken+1, len(r.pages)))
	}
	x := r.pages[r.taken]
	r.taken++
	if x.format {
		r.g.Edit(x.bitmap, page.AppendFormat(r.g.Scratch(), page.KindBitmap))
		r.g.Edit(x.bitmap, page.AppendBits(r.g.Scratch(), 0, 2, true))
	}
	r.g.Edit(x.bitmap, page.AppendBits(r.g.Scratch(), x.bit, 1, true))
	r.s.hint.Store(x.fresh.ID.No())
	return x.fresh
}

// PrepareFree latches what Free will change. The page itself must be held exclusively by the group already.
func (s *Space) PrepareFree(g *pool.Group, no uint32) error {
	b, bit := bitmapOf(no)
	h, err := g.Fetch(s.ID(b), pool.Exclusive)
	if err != nil {
		return err
	}
	if !h.Page.Bit(bit) {
		return &page.CorruptError{Page: h.ID, What: fmt.Sprintf("page %d is given back and was free", no)}
	}
	return nil
}

// Free gives a page back. PrepareFree was called for it in this group.
func (s *Space) Free(g *pool.Group, h *pool.Held) {
	b, bit := bitmapOf(h.ID.No())
	bm, err := g.Fetch(s.ID(b), pool.Exclusive) // held since PrepareFree, so it cannot fail
	if err != nil {
		panic(fmt.Sprintf("BUG: free of page %v without PrepareFree: %v", h.ID, err))
	}
	g.Edit(h, page.AppendFormat(g.Scratch(), page.KindFree))
	g.Edit(bm, page.AppendBits(g.Scratch(), bit, 1, false))
	if no := h.ID.No(); no < s.hint.Load() {
		s.hint.Store(no)
	}
}

// Used counts the pages in use, the space's own among them. It reads one bitmap page for every BitmapSpan pages of a file of
// filePages, and of those it has lately given out beyond.
func (s *Space) Used(ctx context.Context, filePages int64) (pages int64, err error) {
	end := min(max(filePages, int64(s.hint.Load())+1), MaxPages)
	for first := int64(0); first < end; first += BitmapSpan {
		n, err := s.usedIn(ctx, s.ID(uint32(first)+1))
		if err != nil {
			return 0, err
		}
		pages += int64(n)
	}
	return pages, nil
}

// usedIn counts the bits of one bitmap page.
func (s *Space) usedIn(ctx context.Context, id page.ID) (n int, err error) {
	g := s.pool.BeginRead(ctx)
	defer g.Abort()
	h, err := g.Fetch(id, pool.Shared)
	if err != nil {
		return 0, err
	}
	switch h.Page.Kind() {
	case page.KindBitmap:
		return h.Page.SetBits(), nil
	case page.KindZero:
		return 0, nil
	}
	return 0, &page.CorruptError{Page: id, What: fmt.Sprintf("it is a %v page, want a bitmap", h.Page.Kind())}
}
