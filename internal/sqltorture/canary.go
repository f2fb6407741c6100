package sqltorture

import (
	"context"
	"fmt"
)

// Canary is a lie that the torture tells itself, and must find out.
type Canary string

const (
	CanaryNone   Canary = ""
	CanaryLost   Canary = "lost"   // an acknowledgement that nobody gave
	CanaryTorn   Canary = "torn"   // a change that nobody made, in a work that was acknowledged
	CanaryKept   Canary = "kept"   // a change forgotten: more is there than was acknowledged
	CanaryGone   Canary = "gone"   // a row removed behind the oracle's back
	CanaryMoney  Canary = "money"  // a balance changed behind the back of the watchers
	CanaryOrphan Canary = "orphan" // a parent removed behind the back of its foreign keys
	CanaryTwice  Canary = "twice"  // an id noted that will be given
	CanarySite   Canary = "site"   // a row of a site removed behind the oracle's back
)

// Canaries are all of them.
var Canaries = []Canary{CanaryLost, CanaryTorn, CanaryKept, CanaryGone, CanaryMoney, CanaryOrphan, CanaryTwice, CanarySite}

// lie carries out a canary that is about what was told, and says whether it could.
func (r *run) lie() bool {
	for _, c := range r.clients {
		if len(c.log) == 0 {
			continue
		}
		last := c.log[len(c.log)-1]
		if last.acked == 0 || last.alone > 0 || len(last.effects) == 0 {
			continue
		}
		switch r.cfg.Canary {
		case CanaryLost:
			c.log = append(c.log, &work{author: author{c.no, last.seq + 1}, began: last.acked, acked: last.acked})
		case CanaryTorn:
			last.effects = append(last.effects, effect{kind: put, table: claims, key: rowKey(c.no, 0), value: claimValue(0, null)})
		case CanaryKept:
			e := last.effects[len(last.effects)-1]
			if e.kind != add {
				continue
			}
			last.effects = last.effects[:len(last.effects)-1]
		default:
			return false
		}
		return true
	}
	return false
}

// tamper carries out a canary that is about what is there, and says whether it could.
func (r *run) tamper(ctx context.Context, l *link) (bool, error) {
	var script []string
	switch r.cfg.Canary {
	case CanaryTwice:
		next := uint64(0)
		for id := range r.oracle.proven.rows[tickets] {
			next = max(next, id)
		}
		for range 100 { // some are passed over by a crash
			next++
			r.ledger.issue(next, issue{})
		}
		return true, nil
	case CanaryGone:
		script = []string{"DELETE FROM mirror ORDER BY client LIMIT 1"}
	case CanaryMoney:
		script = []string{"UPDATE bank_b SET balance = balance + 1 WHERE id = 7"}
	case CanaryOrphan:
		script = []string{"SET foreign_key_checks = 0",
			"DELETE FROM parent WHERE id = (SELECT k.parent FROM (SELECT parent FROM kid_cascade LIMIT 1) AS k)"}
	case CanarySite:
		for name, rows := range r.lastSeen.sites {
			if len(rows) > 0 {
				script = []string{"DELETE FROM " + name + " LIMIT 1"}
			}
		}
	}
	changed := int64(0)
	for _, text := range script {
		res, err := l.conn.ExecContext(ctx, text)
		if err != nil {
			return false, fmt.Errorf("canary: %s: %w", text, err)
		}
		if changed, err = res.RowsAffected(); err != nil {
			return false, err
		}
	}
	return changed > 0, nil
}
