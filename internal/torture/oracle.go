package torture

import (
	"fmt"
	"maps"
	"slices"
)

// oracle knows what the database must hold: what was proven last, and what the journals tell since.
type oracle struct {
	proven *state
	open   map[uint16][]transaction // since then, by writer, in order
	loss   loss

	acknowledged int // transactions, in all
	forgiven     int // acknowledged ones that rule 5 let go
}

// loss is what rule 5 allows at the next proof.
type loss uint8

const (
	lossNone   loss = iota
	lossMemory      // the log in memory was taken away: commits that did not wait for the disk may be gone
)

func newOracle() *oracle {
	return &oracle{proven: newState(), open: map[uint16][]transaction{}}
}

// add takes what a dead child told of a writer.
func (o *oracle) add(txs []transaction) {
	for _, tx := range txs {
		o.open[tx.writer] = append(o.open[tx.writer], tx)
		if tx.acked != 0 {
			o.acknowledged++
		}
	}
}

// ruling is what a proof comes to.
type ruling struct {
	lost     int // acknowledged transactions that are not there
	torn     int // transactions of which a part is there, and rows that nobody committed
	forgiven int // acknowledged transactions that were allowed to be lost
	wrongs   []string
}

func (r *ruling) ok() bool { return r.lost == 0 && r.torn == 0 }

func (r *ruling) wrong(format string, args ...any) {
	if len(r.wrongs) < maxWrongs {
		r.wrongs = append(r.wrongs, fmt.Sprintf(format, args...))
	}
}

// judge compares what is there with what must be, and makes it what is proven.
func (o *oracle) judge(found *gathered) ruling {
	var r ruling
	for _, w := range found.wrongs {
		r.torn++
		r.wrong("%s", w)
	}
	want := o.proven
	var kept, gone []transaction
	for _, writer := range slices.Sorted(maps.Keys(o.open)) {
		txs := o.open[writer]
		there := o.answered(writer, txs, found.seqs[writer], &r)
		kept, gone = append(kept, txs[:there]...), append(gone, txs[there:]...)
		for _, tx := range txs[:there] {
			for _, c := range tx.ops {
				want.apply(writer, tx.seq, c)
			}
			want.seqs[writer] = tx.seq
		}
	}
	o.order(kept, gone, &r)
	compare(want, &found.state, &r)
	o.forgiven += r.forgiven
	o.open, o.loss = map[uint16][]transaction{}, lossNone
	return r
}

// answered tells how many of a writer's transactions are there, by its stamp row, and counts those that should be.
func (o *oracle) answered(writer uint16, txs []transaction, seq uint64, r *ruling) (there int) {
	base := o.proven.seqs[writer]
	for there < len(txs) && txs[there].seq <= seq {
		there++
	}
	if last := base + uint64(there); seq < base || seq > last {
		// compare will complain of the stamp row too, once.
		r.wrong("writer %d: its stamp row says transaction %d, it can only be one of [%d,%d]", writer, seq, base, base+uint64(len(txs)))
	}
	if seq < base {
		r.lost += int(base - seq)
	}
	for i, tx := range txs[there:] {
		switch {
		case tx.acked == 0:
		case o.loss == lossMemory && !slices.ContainsFunc(txs[there+i:], func(t transaction) bool { return t.durable && t.acked != 0 }):
			r.forgiven++
		default:
			r.lost++
			r.wrong("writer %d: transaction %d was acknowledged and is not there (waited for the disk: %v; the stamp row says %d)",
				writer, tx.seq, tx.durable, seq)
		}
	}
	return there
}

// order looks for holes: a transaction that is there proves those acknowledged before it began to commit.
func (o *oracle) order(kept, gone []transaction, r *ruling) {
	var last transaction // the one that began to commit last
	for _, tx := range kept {
		if tx.began > last.began {
			last = tx
		}
	}
	for _, tx := range gone {
		if tx.acked != 0 && tx.acked < last.began && o.loss == lossMemory {
			r.torn++
			r.wrong("transaction %d of writer %d is there, and transaction %d of writer %d is not, though it was acknowledged before",
				last.seq, last.writer, tx.seq, tx.writer)
		}
	}
}

// compare counts the transactions of which rows are missing, or too many, or other than they must be.
func compare(want, found *state, r *ruling) {
	torn := map[[2]uint64]bool{} // by writer and seq
	blame := func(s stamp, format string, args ...any) {
		torn[[2]uint64{uint64(s.writer), s.seq}] = true
		r.wrong(format, args...)
	}
	for _, name := range slices.Sorted(maps.Keys(want.trees)) {
		have, ok := found.trees[name]
		if !ok {
			r.torn++
			r.wrong("tree %s with %d rows is not there", name, len(want.trees[name]))
			continue
		}
		for key, w := range want.trees[name] {
			switch h, ok := have[key]; {
			case !ok:
				blame(w, "tree %s, key %s: not there; want %v", name, showKey([]byte(key)), w)
			case h != w:
				blame(w, "tree %s, key %s: %v; want %v", name, showKey([]byte(key)), h, w)
			}
		}
		for key, h := range have {
			if _, ok := want.trees[name][key]; !ok {
				blame(h, "tree %s, key %s: %v; want nothing", name, showKey([]byte(key)), h)
			}
		}
	}
	for name, rows := range found.trees {
		if _, ok := want.trees[name]; !ok {
			r.torn++
			r.wrong("tree %s with %d rows is there; want none", name, len(rows))
		}
	}
	r.torn += len(torn)
	compareNumbers("account", want.bank, found.bank, r)
	compareNumbers("stamp row of writer", want.seqs, found.seqs, r)
}

func compareNumbers[V int64 | uint64](what string, want, found map[uint16]V, r *ruling) {
	if maps.Equal(want, found) {
		return
	}
	r.torn++
	for no, w := range want {
		if h, ok := found[no]; !ok || h != w {
			r.wrong("%s %d: %d (there: %v), want %d", what, no, h, ok, w)
		}
	}
	for no, h := range found {
		if _, ok := want[no]; !ok {
			r.wrong("%s %d: %d, want none", what, no, h)
		}
	}
}
