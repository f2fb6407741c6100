package sqltorture

import (
	"fmt"
	"strconv"
)

// transfer moves money between two accounts, in one of the ways programs do.
func (a *attempt) transfer() error {
	from, to, amount := account(a.rnd.IntN(accounts)), account(a.rnd.IntN(accounts)), int64(1+a.rnd.IntN(50))
	if from == to {
		return nil
	}
	how := a.rnd.IntN(3)
	return a.unit(func() error {
		switch {
		case how == 0:
			if err := a.readAndSet(from, -amount); err != nil {
				return err
			}
			if err := a.readAndSet(to, amount); err != nil {
				return err
			}
		case how == 1 && from.bank() == to.bank():
			text := "UPDATE " + from.bank() + " SET balance = balance + CASE id WHEN ? THEN ? ELSE ? END, touched = touched + 1 WHERE id IN (?, ?)"
			if err := a.must(2, nil, text, from.id(), -amount, amount, from.id(), to.id()); err != nil {
				return err
			}
		default:
			if err := a.change(from, -amount); err != nil {
				return err
			}
			if err := a.change(to, amount); err != nil {
				return err
			}
		}
		a.did(effect{kind: add, key: uint64(from), amount: -amount})
		a.did(effect{kind: add, key: uint64(to), amount: amount})
		return nil
	})
}

// change finds the account by its primary key or by its owner.
func (a *attempt) change(x account, amount int64) error {
	where, arg := "id = ?", any(x.id())
	if a.chance(40) {
		where, arg = "owner = ?", fmt.Sprintf("owner %d", x.id())
	}
	return a.must(1, nil, "UPDATE "+x.bank()+" SET balance = balance + ?, touched = touched + 1 WHERE "+where, amount, arg)
}

// readAndSet locks, computes itself, and writes what it computed.
func (a *attempt) readAndSet(x account, amount int64) error {
	rows, err := a.query(nil, "SELECT balance FROM "+x.bank()+" WHERE id = ? FOR UPDATE", x.id())
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		a.found.torn("%s: account %d of %s: %d rows", a.who, x.id(), x.bank(), len(rows))
		return errAborted
	}
	balance, err := strconv.ParseInt(rows[0][0], 10, 64)
	if err != nil {
		return fmt.Errorf("balance of %s: %w", x.bank(), err)
	}
	return a.must(1, nil, "UPDATE "+x.bank()+" SET balance = ? WHERE id = ?", balance+amount, x.id())
}
