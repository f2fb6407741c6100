package torture

import (
	"fmt"
	"maps"
)

// opKind is a kind of change.
type opKind uint8

const (
	opSetup    opKind = iota + 1 // makes the fixed trees; a accounts of b each
	opPut                        // tree, index a, n, size b
	opDelete                     // tree, index a
	opCreate                     // tree
	opDrop                       // tree
	opLoad                       // tree, indexes [0,a), n, size b
	opTransfer                   // b from account a to account n
)

// op is one change of a transaction, as journals tell it.
type op struct {
	kind opKind
	tree treeNo
	a, b uint32
	n    uint32
}

// state is what trees hold, or must hold. The parent has one of everything, each writer one of its own keys.
type state struct {
	trees map[string]map[string]stamp // by name and key
	bank  map[uint16]int64            // nil: the database is not set up
	seqs  map[uint16]uint64           // by writer
}

func newState() *state {
	return &state{trees: map[string]map[string]stamp{}, seqs: map[uint16]uint64{}}
}

// apply carries out a change of a writer's transaction, and returns how to take it back.
func (s *state) apply(writer uint16, seq uint64, o op) (undo func()) {
	name := o.tree.name(writer)
	switch o.kind {
	case opSetup:
		for _, t := range fixedTrees {
			s.trees[t.name(0)] = map[string]stamp{}
		}
		s.bank = make(map[uint16]int64, o.a)
		for i := range o.a {
			s.bank[uint16(i)] = int64(o.b)
		}
		return func() { s.trees, s.bank = map[string]map[string]stamp{}, nil }
	case opPut:
		return s.set(name, string(o.tree.key(nil, writer, o.a)), stamp{writer, o.n, seq, o.b}, true)
	case opDelete:
		return s.set(name, string(o.tree.key(nil, writer, o.a)), stamp{}, false)
	case opCreate:
		s.trees[name] = map[string]stamp{}
		return func() { delete(s.trees, name) }
	case opDrop:
		old := s.trees[name]
		delete(s.trees, name)
		return func() { s.trees[name] = old }
	case opLoad:
		rows := s.trees[name]
		old := maps.Clone(rows)
		for i := range o.a {
			rows[string(o.tree.key(nil, writer, i))] = stamp{writer, o.n, seq, o.b}
		}
		return func() { s.trees[name] = old }
	case opTransfer:
		from, to, amount := uint16(o.a), uint16(o.n), int64(o.b)
		if s.bank == nil { // of a writer, who knows nothing of balances
			return func() {}
		}
		s.bank[from] -= amount
		s.bank[to] += amount
		return func() { s.bank[from] += amount; s.bank[to] -= amount }
	}
	panic(fmt.Sprintf("BUG: change of kind %d, want 1 to %d", o.kind, opTransfer))
}

func (s *state) set(name, key string, v stamp, there bool) (undo func()) {
	rows := s.trees[name]
	if rows == nil {
		panic(fmt.Sprintf("BUG: change of tree %s, which is not there", name))
	}
	old, was := rows[key]
	if there {
		rows[key] = v
	} else {
		delete(rows, key)
	}
	return func() {
		if was {
			rows[key] = old
		} else {
			delete(rows, key)
		}
	}
}
