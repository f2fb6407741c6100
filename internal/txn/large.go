package txn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// Large values lie in chains of overflow pages in the tree's space. The chain is written before the entry that refers to it;
// a record in the undo log, in the group that makes the first page, lets a rollback free what there is of it. A chain is
// freed from its front; every group that frees some of it moves the first page in the record that led there.

// pieces lends buffers of what one group of overflow pages holds.
var pieces = sync.Pool{New: func() any { b := make([]byte, piecesPerGroup*page.OverflowBytes); return &b }}

// PutStream sets the value of key to the size bytes that r gives. Nothing is changed if it gives less.
func (tx *Tx) PutStream(ctx context.Context, t *btree.Tree, key []byte, r io.Reader, size int64) error {
	if size < 0 {
		return fmt.Errorf("put a value of %d bytes", size)
	}
	if err := tx.checkWrite(key, size); err != nil {
		return err
	}
	if size > int64(maxInline(key)) {
		return tx.setLarge(ctx, t, key, r, size, changePut)
	}
	value := make([]byte, size)
	if _, err := io.ReadFull(r, value); err != nil {
		return shortValue(err, size)
	}
	_, err := tx.change(ctx, t, key, 0, value, changePut)
	return err
}

func shortValue(err error, size int64) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read the value of %d bytes: %w", size, err)
}

// setLarge locks the key before it writes pages for it, so that what may well fail does so early.
func (tx *Tx) setLarge(ctx context.Context, t *btree.Tree, key []byte, r io.Reader, size int64, c change) error {
	old, err := tx.lockKey(ctx, t, key, lock.Exclusive, lock.Options{Timeout: tx.opts.LockWaitTimeout})
	if err != nil {
		return err
	}
	if c == changeInsert && old.live() {
		return ErrKeyExists
	}
	sp := tx.Savepoint()
	first, err := tx.writeChain(ctx, t, r, size)
	if err == nil {
		_, err = tx.change(ctx, t, key, versionLarge, appendRef(nil, size, first), c)
	}
	if err != nil && tx.broken == nil {
		if back := tx.RollbackTo(ctx, sp); back != nil {
			return errors.Join(err, back)
		}
	}
	return err
}

// writeChain writes size bytes into new overflow pages.
func (tx *Tx) writeChain(ctx context.Context, t *btree.Tree, r io.Reader, size int64) (first uint32, err error) {
	w, err := tx.writer(ctx)
	if err != nil {
		return 0, err
	}
	buf := pieces.Get().(*[]byte)
	defer pieces.Put(buf)
	var last uint32
	for size > 0 {
		data := (*buf)[:min(size, int64(len(*buf)))]
		if _, err := io.ReadFull(r, data); err != nil {
			return 0, shortValue(err, size)
		}
		f, l, err := tx.m.writePieces(ctx, w, t, data, last)
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = f
		}
		last = l
		size -= int64(len(data))
	}
	return first, nil
}

// writePieces adds the pages of one group to the chain that ends in page before, or begins one when that is 0.
func (m *Manager) writePieces(ctx context.Context, w *writer, t *btree.Tree, data []byte, before uint32) (first, last uint32, err error) {
	g, err := m.begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	sp := t.Space()
	var link *pool.Held
	var record spot
	if before != 0 {
		link, err = g.Fetch(sp.ID(before), pool.Exclusive)
	} else {
		record, err = m.prepare(g, w, 8)
	}
	if err != nil {
		g.Abort()
		return 0, 0, err
	}
	n := (len(data) + page.OverflowBytes - 1) / page.OverflowBytes
	reserved, err := sp.Reserve(g, n, before)
	if err != nil {
		g.Abort()
		return 0, 0, err
	}
	pages := make([]*pool.Held, n)
	for i := range pages {
		pages[i] = reserved.Take()
	}
	first, last = pages[0].ID.No(), pages[n-1].ID.No()
	if link != nil {
		g.Edit(link, page.AppendOverflowNext(g.Scratch(), first))
	} else {
		body := binary.LittleEndian.AppendUint32(nil, sp.No())
		w.push(g, record, recLarge, binary.LittleEndian.AppendUint32(body, first))
	}
	for i, h := range pages {
		piece := data[i*page.OverflowBytes : min((i+1)*page.OverflowBytes, len(data))]
		next := uint32(0)
		if i+1 < n {
			next = pages[i+1].ID.No()
		}
		g.Edit(h, page.AppendFormat(g.Scratch(), page.KindOverflow))
		g.Edit(h, page.AppendOverflow(g.Scratch(), next, piece))
	}
	if _, err := g.Commit(); err != nil {
		m.dead.Store(true)
		return 0, 0, err
	}
	return first, last, nil
}

// freeChain frees the chain that record r leads to, if any is left.
func (m *Manager) freeChain(ctx context.Context, t *btree.Tree, r *record) error {
	for r.first != 0 {
		g, err := m.begin(ctx)
		if err != nil {
			return err
		}
		next, err := m.freePieces(g, t, r)
		if err != nil {
			g.Abort()
			return err
		}
		if _, err := g.Commit(); err != nil {
			m.dead.Store(true)
			return err
		}
		r.first = next
	}
	return nil
}

func (m *Manager) freePieces(g *pool.Group, t *btree.Tree, r *record) (next uint32, err error) {
	sp := t.Space()
	var free []*pool.Held
	for next = r.first; next != 0 && len(free) < piecesPerGroup; {
		h, err := g.Fetch(sp.ID(next), pool.Exclusive)
		if err != nil {
			return 0, err
		}
		if h.Page.Kind() != page.KindOverflow || slices.Contains(free, h) {
			return 0, notOverflow(h.ID, h.Page)
		}
		free = append(free, h)
		next = h.Page.OverflowNext()
	}
	no, off := page.SplitUndoPtr(r.ptr)
	undo, err := g.Fetch(undoID(no), pool.Exclusive)
	if err != nil {
		return 0, err
	}
	_, _, body, _, ok := undo.Page.UndoRecord(off)
	if !ok {
		return 0, badRecord(r.ptr)
	}
	if err := m.freePages(g, sp, free); err != nil {
		return 0, err
	}
	// The first page is the last field of every record that has one.
	g.Edit(undo, page.AppendWrite(g.Scratch(), off+page.UndoBodyOffset+len(body)-4, binary.LittleEndian.AppendUint32(nil, next)))
	return next, nil
}

func notOverflow(id page.ID, p *page.Page) error {
	return &page.CorruptError{Page: id, What: fmt.Sprintf("it is a %v page, want the next piece of a large value", p.Kind())}
}

// readPiece copies the piece in an overflow page from off on to buf, and gives the page behind it.
func (m *Manager) readPiece(ctx context.Context, t *btree.Tree, no uint32, off int, buf []byte) (n, length int, next uint32, err error) {
	g := m.pool.BeginRead(ctx)
	defer g.Abort()
	h, err := g.Fetch(t.Space().ID(no), pool.Shared)
	if err != nil {
		return 0, 0, 0, err
	}
	if h.Page.Kind() != page.KindOverflow {
		return 0, 0, 0, notOverflow(h.ID, h.Page)
	}
	data := h.Page.OverflowData()
	return copy(buf, data[min(off, len(data)):]), len(data), h.Page.OverflowNext(), nil
}

// appendLarge appends a large value to dst.
func (m *Manager) appendLarge(ctx context.Context, t *btree.Tree, ref, dst []byte) ([]byte, error) {
	size, first := parseRef(ref)
	if size > MaxValue {
		return dst, &page.CorruptError{Page: t.Space().ID(first), What: fmt.Sprintf("a large value of %d bytes begins here", size)}
	}
	start := len(dst)
	dst = slices.Grow(dst, int(size))
	for no := first; len(dst)-start < int(size); {
		n, _, next, err := m.readPiece(ctx, t, no, 0, dst[len(dst):start+int(size)])
		if err != nil {
			return dst[:start], err
		}
		dst = dst[:len(dst)+n]
		if len(dst)-start < int(size) && (n == 0 || next == 0) {
			return dst[:start], &page.CorruptError{Page: t.Space().ID(no), What: "a large value ends too early"}
		}
		no = next
	}
	return dst, nil
}

// ValueReader reads one value piece by piece. It is valid as long as its transaction, or its statement under read
// committed, and the transaction does not write the key.
type ValueReader struct {
	tx     *Tx
	ctx    context.Context // of OpenValue, since io.Reader takes none
	t      *btree.Tree
	inline []byte // the value when it is not large
	first  uint32
	size   int64
	pos    int64
	page   uint32 // the page that holds the byte at start, 0 = begin at the first
	start  int64
}

// OpenValue opens the value of key that the transaction sees.
func (tx *Tx) OpenValue(ctx context.Context, t *btree.Tree, key []byte) (*ValueReader, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	s := tx.sight(ReadOptions{})
	v, err := tx.read(ctx, t, key, &s)
	if err != nil {
		return nil, err
	}
	r := &ValueReader{tx: tx, ctx: ctx, t: t, size: int64(len(v.value))}
	if v.large() {
		r.size, r.first = parseRef(v.value)
	} else {
		r.inline = append([]byte{}, v.value...)
	}
	return r, nil
}

// Size of the value in bytes.
func (r *ValueReader) Size() int64 { return r.size }

func (r *ValueReader) Read(b []byte) (int, error) {
	if r.tx.done {
		return 0, ErrTxDone
	}
	if len(b) == 0 {
		return 0, nil
	}
	if r.pos >= r.size {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), r.size-r.pos)]
	if r.first == 0 {
		n := copy(b, r.inline[r.pos:])
		r.pos += int64(n)
		return n, nil
	}
	if r.page == 0 || r.pos < r.start {
		r.page, r.start = r.first, 0
	}
	for {
		n, length, next, err := r.tx.m.readPiece(r.ctx, r.t, r.page, int(min(r.pos-r.start, page.OverflowBytes)), b)
		if err != nil {
			return 0, err
		}
		if n > 0 {
			r.pos += int64(n)
			return n, nil
		}
		if next == 0 || length == 0 {
			return 0, &page.CorruptError{Page: r.t.Space().ID(r.page), What: "a large value ends too early"}
		}
		r.page, r.start = next, r.start+int64(length)
	}
}

// Seek moves the position; far moves pass over all pages between.
func (r *ValueReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	case io.SeekStart:
	default:
		return r.pos, fmt.Errorf("seek: whence is %d", whence)
	}
	if offset < 0 {
		return r.pos, fmt.Errorf("seek to %d", offset)
	}
	r.pos = offset
	return offset, nil
}
