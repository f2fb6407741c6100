package torture

import (
	"maps"
	"slices"
)

// lie carries out the canary once, as soon as there is a transaction to lie about.
func (r *run) lie() {
	if r.lied || r.cfg.Canary == CanaryNone {
		return
	}
	for _, writer := range slices.Sorted(maps.Keys(r.oracle.open)) {
		txs := r.oracle.open[writer]
		last := &txs[len(txs)-1]
		if writer == setupWriter || last.acked == 0 || len(last.ops) == 0 {
			continue
		}
		change := last.ops[len(last.ops)-1]
		switch r.cfg.Canary {
		case CanaryLost:
			r.oracle.open[writer] = append(txs, transaction{writer: writer, seq: last.seq + 1, durable: true, began: last.acked, acked: last.acked})
		case CanaryTorn:
			last.ops = append(last.ops, op{kind: opPut, tree: alone, a: uint32(r.cfg.keys()), b: headSize})
		case CanaryKept:
			if change.kind != opPut {
				continue
			}
			last.ops = last.ops[:len(last.ops)-1]
		}
		r.lied = true
		return
	}
}
