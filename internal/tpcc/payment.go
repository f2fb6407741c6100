package tpcc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// payment of a customer, as the ledger has it.
type payment struct {
	id     int64 // h_id
	amount cents
}

// who is a customer that is looked for: by last name in 60 of 100 cases, else by number (2.5.1.2).
type who struct {
	w, d, id int
	last     string
}

func (t *Terminal) who(w, d int) who {
	if t.random.IntN(100) < 60 {
		return who{w: w, d: d, last: t.random.lastName()}
	}
	return who{w: w, d: d, id: t.random.customer()}
}

// find the number: of those of one name the one in the middle by first name, rounded up (2.5.2.2).
func (c who) find(ctx context.Context, tx *sql.Tx) (int, error) {
	if c.id != 0 {
		return c.id, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first", c.w, c.d, c.last)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var found []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		found = append(found, id)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("no customer %s in district %d of warehouse %d", c.last, c.d, c.w)
	}
	return found[(len(found)-1)/2], nil
}

// terminalIDs is the room a terminal has for the numbers of its payments; those of the load are below.
const terminalIDs = 1 << 32

// payment draws the input of clause 2.5.1 and returns the transaction of 2.5.2.
func (t *Terminal) payment(ctx context.Context) (func(context.Context, *sql.Tx) (func(), error), error) {
	if t.paid == 0 { // the database may have seen a terminal of this number before
		first := int64(t.number+1) * terminalIDs
		err := t.db.QueryRowContext(ctx, "SELECT h_id FROM history WHERE h_id BETWEEN ? AND ? ORDER BY h_id DESC LIMIT 1", first, first+terminalIDs-1).Scan(&t.paid)
		if errors.Is(err, sql.ErrNoRows) {
			t.paid = first
		} else if err != nil {
			return nil, fmt.Errorf("last payment of terminal %d: %w", t.number, err)
		}
	}
	t.paid++
	p := payment{id: t.paid, amount: cents(t.random.between(100, 500_000))}
	w, d := t.warehouse(), t.district()
	c := t.who(w, d)
	if t.random.IntN(100) < 15 && t.driver.scale.Warehouses > 1 {
		c.w, c.d = t.otherThan(w), t.district()
	}
	return func(ctx context.Context, tx *sql.Tx) (func(), error) {
		if err := p.pay(ctx, tx, w, d, c); err != nil {
			return nil, err
		}
		return func() { t.driver.Ledger.payment(p) }, nil
	}, nil
}

func (p payment) pay(ctx context.Context, tx *sql.Tx, w, d int, who who) error {
	if err := change(ctx, tx, 1, "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", p.amount, w); err != nil {
		return err
	}
	var wName, dName, street1, street2, city, state, zip string
	err := tx.QueryRowContext(ctx, "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?", w).
		Scan(&wName, &street1, &street2, &city, &state, &zip)
	if err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	if err := change(ctx, tx, 1, "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", p.amount, w, d); err != nil {
		return err
	}
	err = tx.QueryRowContext(ctx, "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?", w, d).
		Scan(&dName, &street1, &street2, &city, &state, &zip)
	if err != nil {
		return fmt.Errorf("district: %w", err)
	}
	id, err := who.find(ctx, tx)
	if err != nil {
		return err
	}
	var first, last, credit, data string
	err = tx.QueryRowContext(ctx, "SELECT c_first, c_last, c_credit, c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
		who.w, who.d, id).Scan(&first, &last, &credit, &data)
	if err != nil {
		return fmt.Errorf("customer: %w", err)
	}
	set, args := "c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1", []any{p.amount, p.amount}
	if credit == "BC" { // bad credit: what is paid is noted
		data = fmt.Sprintf("%d %d %d %d %d %s|%s", id, who.d, who.w, d, w, p.amount, data)
		set, args = set+", c_data = ?", append(args, data[:min(len(data), 500)])
	}
	if err := change(ctx, tx, 1, "UPDATE customer SET "+set+" WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", append(args, who.w, who.d, id)...); err != nil {
		return err
	}
	return change(ctx, tx, 1, "INSERT INTO history (h_id, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		p.id, id, who.d, who.w, d, w, time.Now().UTC().Format(time.DateTime), p.amount, wName+"    "+dName)
}
