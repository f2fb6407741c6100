package sqltorture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// slotsPerClient is how many each has, filled or not.
const slotsPerClient = 24

// slot is the row that a tag stands for: its size and all its bytes follow from it.
type slot struct {
	tag  uint64
	size int
}

// value is what must be found, but for the bytes.
func (s slot) value(seq uint64) string { return fmt.Sprintf("%d %d %d", seq, s.tag, s.size) }

func (s slot) word() string { return fmt.Sprintf("word %d is %x", s.tag%7, s.tag*2654435761) }

func (s slot) body() []byte {
	b := make([]byte, s.size)
	copy(b, bytes.Repeat(fmt.Appendf(nil, "%016x.", s.tag*0x9e3779b97f4a7c15), s.size/17+1))
	return b
}

// drawSlot: most bodies are short, some take many pages.
func drawSlot(rnd *rand.Rand, tag uint64) slot {
	size := rnd.IntN(300)
	switch rnd.IntN(30) {
	case 0:
		size = rnd.IntN(60_000)
	case 1, 2, 3:
		size = rnd.IntN(6_000)
	}
	return slot{tag, size}
}

func (a *attempt) drawSlot() slot { return drawSlot(a.rnd, a.key()) }

func (a *attempt) slotKey(no int) uint64 { return rowKey(a.no, uint64(no)) }

// slotNo of a key.
func slotNo(key uint64) int { return int(key & 0xffffffff) }

func (a *attempt) hasSlot(no int) bool { _, ok := a.own.rows[slots][a.slotKey(no)]; return ok }

const slotColumns = "(client, no, seq, tag, size, word, body)"

// places for the values of n slots.
func places(n int) string {
	return strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?), ", n), ", ")
}

// slotArgs are the values for slotColumns.
func (a *attempt) slotArgs(no int, s slot) []any {
	return []any{a.no, no, a.work.seq, s.tag, s.size, s.word(), s.body()}
}

// writeSlot puts or removes a slot, and does the same to its mirror: who sees one without the other sees half a transaction.
func (a *attempt) writeSlot() error {
	no, s := a.rnd.IntN(slotsPerClient), a.drawSlot()
	there := a.hasSlot(no)
	return a.unit(func() error {
		switch {
		case there && a.chance(30):
			if err := a.must(1, nil, "DELETE FROM slot WHERE client = ? AND no = ?", a.no, no); err != nil {
				return err
			}
			if err := a.must(1, nil, "DELETE FROM mirror WHERE client = ? AND no = ?", a.no, no); err != nil {
				return err
			}
			a.did(effect{kind: remove, table: slots, key: a.slotKey(no)})
			a.did(effect{kind: remove, table: mirrors, key: a.slotKey(no)})
			return nil
		case there:
			if err := a.replaceSlot(no, s); err != nil {
				return err
			}
			if err := a.must(1, nil, "UPDATE mirror SET seq = ? WHERE client = ? AND no = ?", a.work.seq, a.no, no); err != nil {
				return err
			}
		default:
			if err := a.must(1, nil, "INSERT INTO slot "+slotColumns+" VALUES "+places(1), a.slotArgs(no, s)...); err != nil {
				return err
			}
			if err := a.must(1, nil, "INSERT INTO mirror VALUES (?, ?, ?)", a.no, no, a.work.seq); err != nil {
				return err
			}
		}
		a.putSlot(no, s)
		return nil
	})
}

func (a *attempt) putSlot(no int, s slot) {
	a.did(effect{kind: put, table: slots, key: a.slotKey(no), value: s.value(a.work.seq)})
	a.did(effect{kind: put, table: mirrors, key: a.slotKey(no), value: fmt.Sprint(a.work.seq)})
}

// replaceSlot writes a slot that is there in one of the ways there are. Their counts of rows differ.
func (a *attempt) replaceSlot(no int, s slot) error {
	switch a.rnd.IntN(3) {
	case 0:
		return a.must(2, nil, "REPLACE INTO slot "+slotColumns+" VALUES "+places(1), a.slotArgs(no, s)...)
	case 1:
		return a.must(2, nil, "INSERT INTO slot "+slotColumns+" VALUES "+places(1)+" ON DUPLICATE KEY UPDATE "+
			"seq = VALUES(seq), tag = VALUES(tag), size = VALUES(size), word = VALUES(word), body = VALUES(body)", a.slotArgs(no, s)...)
	}
	args := append(a.slotArgs(no, s)[2:], a.no, no)
	return a.must(1, nil, "UPDATE slot SET seq = ?, tag = ?, size = ?, word = ?, body = ? WHERE client = ? AND no = ?", args...)
}

// writeManySlots changes many rows in one statement, or fails in the middle of one.
func (a *attempt) writeManySlots() error {
	filled := a.filled()
	switch how := a.rnd.IntN(3); {
	case how == 0 && len(filled) > 0:
		return a.insertBesides(filled[a.rnd.IntN(len(filled))])
	case how == 1:
		return a.stampSlots(filled)
	default:
		return a.emptySlots(filled)
	}
}

func (a *attempt) filled() (nos []int) {
	for key := range a.own.rows[slots] {
		nos = append(nos, slotNo(key))
	}
	slices.Sort(nos)
	return nos
}

// insertBesides inserts two rows and then one that is there: it must fail, and do nothing.
func (a *attempt) insertBesides(there int) error {
	var args []any
	n := 1
	for no := 0; no < slotsPerClient && n < 3; no++ {
		if !a.hasSlot(no) {
			args = append(args, a.slotArgs(no, a.drawSlot())...)
			n++
		}
	}
	args = append(args, a.slotArgs(there, a.drawSlot())...)
	_, err := a.exec([]uint16{erDuplicate}, "INSERT INTO slot "+slotColumns+" VALUES "+places(n), args...)
	if err == nil {
		a.found.duplicate("%s: an insert of slot %d, which is there, did not fail", a.who, there)
		return errAborted
	}
	return passOver(err)
}

// stampSlots sets the number of the work in all slots.
func (a *attempt) stampSlots(filled []int) error {
	return a.unit(func() error {
		for _, table := range []string{"slot", "mirror"} {
			if err := a.must(uint64(len(filled)), nil, "UPDATE "+table+" SET seq = ? WHERE client = ?", a.work.seq, a.no); err != nil {
				return err
			}
		}
		for _, no := range filled {
			var s slot
			var old uint64
			key := a.slotKey(no)
			if _, err := fmt.Sscan(a.own.rows[slots][key], &old, &s.tag, &s.size); err != nil {
				panic(fmt.Sprintf("BUG: slot %d is %q, want three numbers", no, a.own.rows[slots][key]))
			}
			a.putSlot(no, s)
		}
		return nil
	})
}

// emptySlots deletes a range.
func (a *attempt) emptySlots(filled []int) error {
	from := a.rnd.IntN(slotsPerClient)
	to := from + a.rnd.IntN(slotsPerClient-from)
	gone := slices.DeleteFunc(slices.Clone(filled), func(no int) bool { return no < from || no > to })
	return a.unit(func() error {
		for _, table := range []string{"slot", "mirror"} {
			if err := a.must(uint64(len(gone)), nil, "DELETE FROM "+table+" WHERE client = ? AND no BETWEEN ? AND ?", a.no, from, to); err != nil {
				return err
			}
		}
		for _, no := range gone {
			a.did(effect{kind: remove, table: slots, key: a.slotKey(no)})
			a.did(effect{kind: remove, table: mirrors, key: a.slotKey(no)})
		}
		return nil
	})
}

// readOwn compares what the transaction sees of its own rows with what it knows, by one of the ways that lead to them.
func (a *attempt) readOwn() error {
	ways := []string{
		"SELECT no, seq, tag, size FROM slot WHERE client = ?",
		"SELECT no, seq, tag, size FROM slot WHERE size >= 0 AND client = ? ORDER BY size",
		"SELECT no, seq, tag, size FROM slot WHERE client = ? FOR UPDATE",
		"SELECT s.no, m.seq, s.tag, s.size FROM slot s JOIN mirror m ON m.client = s.client AND m.no = s.no WHERE s.client = ?",
	}
	text := ways[a.rnd.IntN(len(ways))]
	rows, err := a.query(nil, text, a.no)
	if err != nil {
		return passOver(err)
	}
	found := map[uint64]string{}
	for _, r := range rows {
		var no int
		if _, err := fmt.Sscan(r[0], &no); err != nil {
			return fmt.Errorf("slot %q: %w", r[0], err)
		}
		found[a.slotKey(no)] = strings.Join(r[1:], " ")
	}
	want := a.own.rows[slots]
	if len(rows) != len(want) {
		a.found.torn("%s: %s: %d rows, want %d", a.who, text, len(rows), len(want))
		return errAborted
	}
	for key, w := range want {
		if found[key] != w {
			a.found.torn("%s: %s: slot %d is %q, want %q", a.who, text, slotNo(key), found[key], w)
			return errAborted
		}
	}
	return nil
}
