package sqltorture

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ticketsKept is how many rows of AUTO_INCREMENT a client keeps.
const ticketsKept = 60

func ticketValue(client int, seq uint64, n int) string {
	return fmt.Sprintf("%d %d %d", client, seq, n)
}

// ticket is a step of a transaction: it draws tickets, once, and throws old ones away.
func (a *attempt) ticket() error {
	mine := slices.Sorted(maps.Keys(a.own.rows[tickets]))
	if len(mine) > ticketsKept {
		last := mine[len(mine)-ticketsKept/2]
		text := "DELETE FROM ticket WHERE client = ? AND id < ?"
		n, _ := slices.BinarySearch(mine, last)
		if err := a.must(uint64(n), nil, text, a.no, last); err != nil {
			return passOver(err)
		}
		for _, id := range mine[:n] {
			a.did(effect{kind: remove, table: tickets, key: id})
		}
	}
	for _, e := range a.work.effects {
		if e.table == tickets && e.kind == put {
			return nil // those of this work have their numbers already
		}
	}
	return a.unit(func() error { return a.tickets(1 + a.rnd.IntN(4)) })
}

// tickets inserts n rows that are given ids, and reads which.
func (a *attempt) tickets(n int) error {
	first, err := a.drawTickets(n)
	if err != nil {
		return err
	}
	return a.readTickets(n, first)
}

// drawTickets inserts n rows, and returns the id that the first one was given.
func (a *attempt) drawTickets(n int) (first uint64, err error) {
	var args []any
	for i := range n {
		args = append(args, a.no, a.work.seq, i)
	}
	text := "INSERT INTO ticket (client, seq, n) VALUES " + strings.TrimSuffix(strings.Repeat("(?, ?, ?), ", n), ", ")
	affected, first, err := a.client.exec(a.ctx, nil, text, args...)
	if err != nil {
		return 0, err
	}
	if affected != uint64(n) {
		a.found.torn("%s: %d tickets inserted, want %d", a.who, affected, n)
	}
	return first, a.issued(first)
}

// readTickets reads the ids of the rows that the work has inserted. first is what the statement said, 0 if its answer was lost.
func (a *attempt) readTickets(n int, first uint64) error {
	rows, err := a.query(nil, "SELECT id, n FROM ticket WHERE client = ? AND seq = ? ORDER BY n", a.no, a.work.seq)
	if err != nil {
		return err
	}
	if len(rows) != n || first != 0 && rows[0][0] != fmt.Sprint(first) {
		a.found.torn("%s: tickets %v after the insert of %d that got ids from %d on", a.who, rows, n, first)
		return errAborted
	}
	for i, r := range rows {
		id, err := strconv.ParseUint(r[0], 10, 64)
		if err != nil {
			return fmt.Errorf("id of a ticket: %w", err)
		}
		if id != first {
			if err := a.issued(id); err != nil {
				return err
			}
		}
		a.did(effect{kind: put, table: tickets, key: id, value: ticketValue(a.no, a.work.seq, i)})
	}
	return nil
}

// issued is rule 7.
func (a *attempt) issued(id uint64) error {
	if before, twice := a.ledger.issue(id, issue{a.work.author, a.began}); twice {
		a.found.duplicate("id %d was given to %v, and before, at tick %d, to %v", id, a.work.author, before.at, before.by)
		return errAborted
	}
	return nil
}
