package torture

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// book is the story of a small database: what was acknowledged of it, and what is found.
type book struct {
	*oracle
	found *gathered
}

// newBook has a database set up and proven, with two accounts.
func newBook(t *testing.T) *book {
	b := &book{newOracle(), newGathered()}
	b.commit(setupWriter, 1, true, 1, op{kind: opSetup, a: 2, b: 100})
	if r := b.judge(b.found); !r.ok() {
		t.Fatal(r.wrongs)
	}
	return b
}

// commit is a transaction that began to commit at a moment, and is there.
func (b *book) commit(writer uint16, seq uint64, durable bool, at uint64, ops ...op) {
	for _, o := range ops {
		b.found.apply(writer, seq, o)
	}
	b.found.seqs[writer] = seq
	b.tell(writer, seq, durable, at, at+1, ops...)
}

// tell is what the journal says of a transaction, whether it is there or not. acked 0: no acknowledgement.
func (b *book) tell(writer uint16, seq uint64, durable bool, began, acked uint64, ops ...op) {
	b.add([]transaction{{writer: writer, seq: seq, durable: durable, began: began, acked: acked, ops: ops}})
}

func put(t treeNo, index, n uint32) op { return op{kind: opPut, tree: t, a: index, b: headSize, n: n} }

func TestOracle(t *testing.T) {
	own := ownTree + 1
	for _, c := range []struct {
		name             string
		story            func(b *book)
		lost, torn, gone int
		complaint        string
	}{
		{name: "all is there", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1), put(alone, 2, 2))
			b.commit(1, 2, true, 20, op{kind: opDelete, tree: alone, a: 2}, op{kind: opTransfer, a: 0, n: 1, b: 30})
			b.commit(2, 1, true, 15, op{kind: opCreate, tree: own}, op{kind: opLoad, tree: own, a: 10, b: headSize, n: 1}, op{kind: opTransfer, a: 1, n: 0, b: 5})
			b.commit(2, 2, true, 25, op{kind: opDrop, tree: own})
		}},
		{name: "an open question, answered by no", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.tell(1, 2, true, 20, 0, put(left, 1, 2), put(right, 1, 2))
		}},
		{name: "an open question, answered by yes", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1), put(right, 1, 2))
			b.open[1][0].acked = 0
		}},
		{name: "lost: acknowledged and not there", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.tell(1, 2, true, 20, 30, put(left, 1, 2))
			b.tell(1, 3, true, 40, 50, put(left, 1, 3))
		}, lost: 2, complaint: "transaction 2 was acknowledged"},
		{name: "lost: it did not wait for the disk, and nobody took memory away", story: func(b *book) {
			b.tell(1, 1, false, 20, 30, put(left, 1, 2))
		}, lost: 1, complaint: "acknowledged and is not there"},
		{name: "gone with the memory, as it may", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.tell(1, 2, false, 20, 30, put(left, 1, 2))
			b.loss = lossMemory
		}, gone: 1},
		{name: "lost with the memory: it waited for the disk, and so did all before it", story: func(b *book) {
			b.tell(1, 1, false, 20, 30, put(left, 1, 1))
			b.tell(1, 2, true, 40, 50, put(left, 1, 2))
			b.loss = lossMemory
		}, lost: 2, complaint: "waited for the disk: true"},
		{name: "torn: a later transaction is there and an earlier one went with the memory", story: func(b *book) {
			b.tell(1, 1, false, 20, 30, put(left, 1, 1))
			b.commit(2, 1, false, 31, put(left, 1, 1))
			b.loss = lossMemory
		}, torn: 1, gone: 1, complaint: "though it was acknowledged before"},
		{name: "no hole: the two overlapped", story: func(b *book) {
			b.tell(1, 1, false, 20, 30, put(left, 1, 1))
			b.commit(2, 1, false, 29, put(left, 1, 1))
			b.loss = lossMemory
		}, gone: 1},
		{name: "torn: one of two rows is not there", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1), put(right, 1, 1))
			delete(b.found.trees["right"], string(right.key(nil, 1, 1)))
		}, torn: 1, complaint: "not there; want writer 1 transaction 1"},
		{name: "torn: a row of a transaction that did not commit", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.tell(1, 2, true, 20, 0, put(left, 1, 2), put(left, 2, 2))
			b.found.apply(1, 2, put(left, 2, 2))
		}, torn: 1, complaint: "want nothing"},
		{name: "torn: the version before", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.commit(1, 2, true, 20, put(left, 1, 2))
			b.found.apply(1, 1, put(left, 1, 1))
		}, torn: 1, complaint: "want writer 1 transaction 2"},
		{name: "torn: what was rolled back to a savepoint", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.found.apply(1, 1, put(left, 1, 9))
		}, torn: 1, complaint: "change 9"},
		{name: "torn: a deleted row is back", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1), op{kind: opDelete, tree: left, a: 1})
			b.found.apply(1, 1, put(left, 1, 1))
		}, torn: 1, complaint: "want nothing"},
		{name: "torn: half a transfer", story: func(b *book) {
			b.commit(1, 1, true, 10, op{kind: opTransfer, a: 0, n: 1, b: 5})
			b.found.bank[1] -= 5
		}, torn: 1, complaint: "account 1: 100 (there: true), want 105"},
		{name: "torn: a tree that nobody made", story: func(b *book) {
			b.found.apply(1, 1, op{kind: opCreate, tree: own})
		}, torn: 1, complaint: "want none"},
		{name: "torn: a tree is gone", story: func(b *book) {
			b.commit(1, 1, true, 10, op{kind: opCreate, tree: own})
			delete(b.found.trees, own.name(1))
		}, torn: 1, complaint: "is not there"},
		{name: "torn: a value that is none", story: func(b *book) {
			b.found.begin("left")
			b.found.wrong("tree left, key 01: other bytes")
		}, torn: 1, complaint: "other bytes"},
		{name: "torn: a stamp row of the future", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.found.seqs[1] = 5
		}, torn: 1, complaint: "can only be one of [0,1]"},
		{name: "a stamp row of the past: what was proven is lost", story: func(b *book) {
			b.commit(1, 1, true, 10, put(left, 1, 1))
			b.judge(b.found)
			b.found.seqs[1] = 0
			b.tell(1, 2, true, 20, 0)
		}, lost: 1, torn: 1, complaint: "can only be one of [1,2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			if strings.HasPrefix(c.name, "torn: a value") {
				b.found.trees = map[string]map[string]stamp{"middle": {}, "right": {}, "alone": {}, "large": {}}
			}
			c.story(b)
			r := b.judge(b.found)
			if r.lost != c.lost || r.torn != c.torn || r.forgiven != c.gone {
				t.Errorf("lost %d, torn %d, gone %d; want %d, %d, %d: %v", r.lost, r.torn, r.forgiven, c.lost, c.torn, c.gone, r.wrongs)
			}
			if c.complaint != "" && !slices.ContainsFunc(r.wrongs, func(w string) bool { return strings.Contains(w, c.complaint) }) {
				t.Errorf("nobody complains that %q: %v", c.complaint, r.wrongs)
			}
		})
	}
}

func (s *state) clone() *state {
	c := &state{trees: make(map[string]map[string]stamp, len(s.trees)), bank: maps.Clone(s.bank), seqs: maps.Clone(s.seqs)}
	for name, rows := range s.trees {
		c.trees[name] = maps.Clone(rows)
	}
	return c
}

// TestUndo: taking changes back gives what was before.
func TestUndo(t *testing.T) {
	s := newState()
	s.apply(setupWriter, 1, op{kind: opSetup, a: 3, b: 100})
	s.apply(1, 1, op{kind: opCreate, tree: ownTree})
	for i := range uint32(20) {
		s.apply(1, 1, put(alone, i, i))
		s.apply(1, 1, put(ownTree, i, i))
	}
	before := s.clone()
	var undos []func()
	for _, o := range []op{
		put(alone, 3, 100), put(alone, 50, 101), {kind: opDelete, tree: alone, a: 4}, {kind: opDelete, tree: alone, a: 99},
		{kind: opLoad, tree: ownTree, a: 30, b: headSize, n: 102}, {kind: opDrop, tree: ownTree}, {kind: opCreate, tree: ownTree},
		put(ownTree, 7, 103), {kind: opTransfer, a: 0, n: 2, b: 7}, {kind: opCreate, tree: ownTree + 1},
	} {
		undos = append(undos, s.apply(1, 2, o))
	}
	for _, undo := range slices.Backward(undos) {
		undo()
	}
	var r ruling
	if compare(before, s, &r); !r.ok() {
		t.Errorf("undone, and other than before: %v", r.wrongs)
	}
}
