package sqltorture

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// parentValue is the value of every parent: its code is held against those of its children instead.
const parentValue = "parent"

// noParent is the value of a child without one.
const noParent = "0"

// childrenKept is how many of a kind a client has at most.
const childrenKept = 15

// parentIn reads the parent of a child from its value.
func parentIn(value string) uint64 {
	id, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: parent %q, want a number", value))
	}
	return id
}

// family makes parents, gives them children of three kinds, and takes both away. Parents belong to all clients.
func (a *attempt) family() error {
	switch p := a.rnd.IntN(100); {
	case p < 30:
		return a.newParent()
	case p < 60:
		return a.newChild()
	case p < 70:
		return a.removeParent(a.families.pick(a.rnd.IntN(parentsKnown)))
	case p < 80:
		return a.renameParent(a.families.pick(a.rnd.IntN(parentsKnown)))
	case p < 90:
		return a.adopt()
	}
	return a.removeChild([]tableNo{kidsCascade, kidsNull, kidsRestrict}[a.rnd.IntN(3)])
}

func (a *attempt) newParent() error {
	id := a.key()
	if err := a.must(1, nil, "INSERT INTO parent (id, code) VALUES (?, ?)", id, a.key()); err != nil {
		return passOver(err)
	}
	a.did(effect{kind: put, table: parents, key: id, value: parentValue})
	// Others may meet it before the commit, and after a rollback: they have to be ready for that.
	if old := a.families.born(id); old != 0 {
		return a.removeParent(old)
	}
	return nil
}

// removeParent takes the children along, leaves them without a parent, or fails.
func (a *attempt) removeParent(id uint64) error {
	n, err := a.exec([]uint16{erParentIsUsed}, "DELETE FROM parent WHERE id = ?", id)
	if err != nil {
		if errors.Is(err, undone(erParentIsUsed)) {
			a.found.event("parents that children kept")
		}
		return passOver(err)
	}
	if n > 0 {
		a.did(effect{kind: remove, table: parents, key: id})
	}
	return nil
}

// renameParent changes what children in kid_cascade refer to, and them with it.
func (a *attempt) renameParent(id uint64) error {
	_, err := a.exec(nil, "UPDATE parent SET code = ? WHERE id = ?", a.key(), id)
	return passOver(err)
}

// newChild fails if the parent is not there, or is on its way out.
func (a *attempt) newChild() error {
	id, parent := a.key(), a.families.pick(a.rnd.IntN(parentsKnown))
	if parent == 0 {
		return nil
	}
	table := []tableNo{kidsCascade, kidsNull, kidsRestrict}[a.rnd.IntN(3)]
	if len(a.own.rows[table]) >= childrenKept {
		return a.removeChild(table)
	}
	var n uint64
	var err error
	if table == kidsCascade {
		n, err = a.exec([]uint16{erParentMissing}, "INSERT INTO kid_cascade (id, parent, code) SELECT ?, id, code FROM parent WHERE id = ?", id, parent)
	} else {
		n, err = a.exec([]uint16{erParentMissing}, "INSERT INTO "+table.String()+" (id, parent) VALUES (?, ?)", id, parent)
	}
	if err == nil && n == 1 {
		a.did(effect{kind: put, table: table, key: id, value: fmt.Sprint(parent)})
	}
	return passOver(err)
}

// aChild is one that the client once had; it may have gone with its parent.
func (a *attempt) aChild(table tableNo) uint64 {
	mine := slices.Sorted(maps.Keys(a.own.rows[table]))
	if len(mine) == 0 {
		return 0
	}
	return mine[a.rnd.IntN(len(mine))]
}

// adopt gives a child another parent.
func (a *attempt) adopt() error {
	table := []tableNo{kidsNull, kidsRestrict}[a.rnd.IntN(2)]
	id, parent := a.aChild(table), a.families.pick(a.rnd.IntN(parentsKnown))
	if id == 0 || parent == 0 {
		return nil
	}
	n, err := a.exec([]uint16{erParentMissing}, "UPDATE "+table.String()+" SET parent = ? WHERE id = ?", parent, id)
	if err == nil && n == 1 {
		a.did(effect{kind: put, table: table, key: id, value: fmt.Sprint(parent)})
	}
	return passOver(err)
}

func (a *attempt) removeChild(table tableNo) error {
	id := a.aChild(table)
	if id == 0 {
		return nil
	}
	n, err := a.exec(nil, "DELETE FROM "+table.String()+" WHERE id = ?", id)
	if err == nil && (n == 1 || table == kidsCascade) {
		a.did(effect{kind: remove, table: table, key: id})
	}
	if err == nil && n == 0 && table != kidsCascade {
		a.found.torn("%s: row %d of %s is not there", a.who, id, table)
	}
	return passOver(err)
}
