package sql

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/hearthdb/hearth"
)

// loadMemory is how many bytes of entries a loader sorts at a time.
var loadMemory = 64 << 20 // a variable for tests

// loader fills a new tree with entries that come in any order. What fits into loadMemory is sorted and loaded page by page; of what
// does not, one sorted run after the other is put.
type loader struct {
	tx      *hearth.Tx
	name    string
	tree    *hearth.Tree // nil as long as nothing was written
	arena   []byte
	entries []loadEntry
}

// loadEntry is a key and behind it a value in the arena.
type loadEntry struct{ at, key, value int }

func (l *loader) key(e loadEntry) []byte   { return l.arena[e.at : e.at+e.key] }
func (l *loader) value(e loadEntry) []byte { return l.arena[e.at+e.key : e.at+e.key+e.value] }

// duplicateError: a key came twice. value is that of one of the two.
type duplicateError struct{ key, value []byte }

func (*duplicateError) Error() string { return "an entry of the new tree came twice" }

// add takes a copy of an entry. The error may be a *duplicateError.
func (l *loader) add(key, value []byte) error {
	if len(l.arena)+len(key)+len(value) > loadMemory {
		if err := l.spill(); err != nil {
			return err
		}
	}
	l.entries = append(l.entries, loadEntry{len(l.arena), len(key), len(value)})
	l.arena = append(append(l.arena, key...), value...)
	return nil
}

// sort puts the entries in order and looks for keys that came twice.
func (l *loader) sort() error {
	slices.SortFunc(l.entries, func(a, b loadEntry) int { return bytes.Compare(l.key(a), l.key(b)) })
	for i := 1; i < len(l.entries); i++ {
		if bytes.Equal(l.key(l.entries[i-1]), l.key(l.entries[i])) {
			return &duplicateError{bytes.Clone(l.key(l.entries[i])), bytes.Clone(l.value(l.entries[i]))}
		}
	}
	return nil
}

// create makes the tree as late as possible: one that was made just before is filled faster.
func (l *loader) create() (err error) {
	if l.tree == nil {
		l.tree, err = l.tx.CreateTree(l.name)
	}
	return err
}

// spill puts the entries so far.
func (l *loader) spill() error {
	if err := l.sort(); err != nil {
		return err
	}
	if err := l.create(); err != nil {
		return err
	}
	for _, e := range l.entries {
		err := l.tree.Insert(l.key(e), l.value(e))
		if errors.Is(err, hearth.ErrKeyExists) {
			return &duplicateError{bytes.Clone(l.key(e)), bytes.Clone(l.value(e))}
		}
		if err != nil {
			return err
		}
	}
	l.arena, l.entries = l.arena[:0], l.entries[:0]
	return nil
}

// finish fills the tree, which then exists in any case.
func (l *loader) finish() error {
	if l.tree != nil {
		return l.spill()
	}
	if err := l.sort(); err != nil {
		return err
	}
	if err := l.create(); err != nil {
		return err
	}
	return l.tree.Load(l.pairs())
}

func (l *loader) pairs() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, e := range l.entries {
			if !yield(l.key(e), l.value(e)) {
				return
			}
		}
	}
}
