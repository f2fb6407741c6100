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
	txs     []TxState      // in the order of their first records
	open    map[uint64]int // where in txs those are that have not ended: few, so looking one up is cheap
}

type sighting struct {
	id  page.ID
	rel uint32 // (LSN - first) / groupAlign
}

func newNotes(n uint64) *notes { return &notes{segment: n, open: map[uint64]int{}} }

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
			n.addTx(TxState{tx, id, ended})
		}
	}
}

func (n *notes) addTx(t TxState) {
	i, ok := n.open[t.ID]
	if !ok {
		i = len(n.txs)
		n.txs = append(n.txs, t)
	}
	n.txs[i] = t
	if t.Ended {
		delete(n.open, t.ID)
	} else if !ok {
		n.open[t.ID] = i
	}
}

// sortSightings orders sightings, which come in the order of the log, by page and then by place in the log: a radix sort by
// the bytes of the id, lowest first, that skips the bytes in which no two differ. With a few hundred thousand sightings a
// segment it takes a fifth of the time of slices.SortFunc, and the log's writer shares its cores with those who commit.
func sortSightings(s []sighting) []sighting {
	if len(s) == 0 {
		return s
	}
	var differ page.ID
	for _, x := range s {
		differ |= x.id ^ s[0].id
	}
	spare := make([]sighting, len(s))
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var at [257]int
		for _, x := range s {
			at[x.id>>shift&0xff+1]++
		}
		for i := range 256 {
			at[i+1] += at[i]
		}
		for _, x := range s {
			b := x.id >> shift & 0xff
			spare[at[b]] = x
			at[b]++
		}
		s, spare = spare, s
	}
	return s
}

// index sorts the notes.
func (n *notes) index() *Index {
	n.seen = slices.Compact(sortSightings(n.seen))
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
	slices.SortStableFunc(n.txs, func(a, b TxState) int { return cmp.Compare(a.ID, b.ID) })
	for i, t := range n.txs {
		if i+1 == len(n.txs) || n.txs[i+1].ID != t.ID { // of several states the last counts
			x.Txs = append(x.Txs, t)
		}
	}
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
