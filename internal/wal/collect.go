package wal

import (
	"cmp"
	"slices"

	"github.com/hearthdb/hearth/internal/page"
)

// notes is what is remembered of the groups of one segment until its index is made.
type notes struct {
	segment uint64
	first   page.LSN // of the first group; 0 until there is one
	end     page.LSN
	partial bool // some groups are from before this life; the file must be read
	seen    []sighting
	txs     map[uint64]TxState
}

type sighting struct {
	id  page.ID
	rel uint32 // (LSN - first) / groupAlign
}

func newNotes(n uint64) *notes { return &notes{segment: n, txs: map[uint64]TxState{}} }

// add notes the group at start. Damaged records are left for redo to complain about.
func (n *notes) add(start page.LSN, body []byte) {
	if n.first == 0 {
		n.first = start
	}
	rel := uint32((start - n.first) / groupAlign)
	for len(body) > 0 {
		id, edit, rest, err := NextRecord(body)
		if err != nil {
			return
		}
		body = rest
		// A group that changes a page often does so in a row.
		if k := len(n.seen); k == 0 || n.seen[k-1] != (sighting{id, rel}) {
			n.seen = append(n.seen, sighting{id, rel})
		}
		if tx, ended, ok := page.TxEffect(edit); ok {
			n.txs[tx] = TxState{tx, id, ended}
		}
	}
}

// index sorts the notes.
func (n *notes) index() *Index {
	slices.SortFunc(n.seen, func(a, b sighting) int {
		if a.id != b.id {
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(a.rel, b.rel)
	})
	n.seen = slices.Compact(n.seen)
	x := &Index{Segment: n.segment, First: n.first, End: n.end, lsns: make([]uint32, 0, len(n.seen))}
	if x.First == 0 {
		x.First = n.end
	}
	for i, s := range n.seen {
		x.lsns = append(x.lsns, s.rel)
		if i+1 == len(n.seen) || n.seen[i+1].id != s.id {
			x.pages = append(x.pages, s.id)
			x.upTo = append(x.upTo, uint32(len(x.lsns)))
		}
	}
	for _, t := range n.txs {
		x.Txs = append(x.Txs, t)
	}
	slices.SortFunc(x.Txs, func(a, b TxState) int { return cmp.Compare(a.ID, b.ID) })
	return x
}

// collector notes the groups while they are still in the ring, so that an index costs no reading. The writer's.
type collector struct {
	y     *layout
	at    page.LSN // everything below is noted
	now   *notes
	wrap  []byte // a body that the ring's end cuts in two
	ready []*notes
}

func (c *collector) init(y *layout, start page.LSN) {
	c.y, c.at = y, start
	c.now = newNotes(y.segmentOf(start))
	c.now.partial = start != FirstLSN && start != y.startOf(c.now.segment)
}

// take notes the groups up to and returns the notes of segments in which none will start any more, until the next take.
func (c *collector) take(r ring, to page.LSN) []*notes {
	c.ready = c.ready[:0]
	var head [groupHeader]byte
	for c.at < to {
		c.seal(c.at)
		r.get(head[:], c.at)
		h, why := decodeHeader(head[:], c.at)
		if why != "" {
			panic("BUG: the ring holds no group where one was appended: got " + why)
		}
		from, n := c.at+groupHeader, int(h.size-groupHeader-h.flags&flagPadding)
		var body []byte
		if pos := r.at(from); pos+n <= len(r) {
			body = r[pos : pos+n]
		} else {
			c.wrap = slices.Grow(c.wrap[:0], n)[:n]
			r.get(c.wrap, from)
			body = c.wrap
		}
		c.now.add(c.at, body)
		c.at += page.LSN(h.size)
	}
	c.seal(c.at)
	return c.ready
}

// seal ends the notes of segments that lie wholly before lsn, where a group starts or will.
func (c *collector) seal(lsn page.LSN) {
	for lsn >= c.y.startOf(c.now.segment+1) {
		c.now.end = lsn
		c.ready = append(c.ready, c.now)
		c.now = newNotes(c.now.segment + 1)
	}
}
