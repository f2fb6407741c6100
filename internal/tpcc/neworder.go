package tpcc

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Lines of an order (2.4.1.3).
const (
	leastLines = 5
	mostLines  = 15
)

// line of an order that is placed.
type line struct{ item, supply, quantity int }

// newOrder draws the input of clause 2.4.1 and returns the transaction of 2.4.2.
func (t *Terminal) newOrder() func(context.Context, *sql.Tx) (func(), error) {
	r := t.random
	o := order{w: t.warehouse(), d: t.district(), customer: r.customer(), local: 1}
	lines := make([]line, r.between(leastLines, mostLines))
	for i := range lines {
		lines[i] = line{r.item(), o.w, r.between(1, 10)}
		if r.IntN(100) == 0 && t.driver.scale.Warehouses > 1 {
			lines[i].supply, o.local = t.otherThan(o.w), 0
		}
	}
	// Rows of stock are locked in one order by all: fewer deadlocks.
	slices.SortFunc(lines, func(a, b line) int { return cmp.Or(a.supply-b.supply, a.item-b.item) })
	if r.IntN(100) == 0 {
		lines[len(lines)-1].item = t.driver.scale.Items + 1 // unused: 2.4.1.5
	}
	o.lines = len(lines)
	return func(ctx context.Context, tx *sql.Tx) (func(), error) {
		o := o
		if err := o.place(ctx, tx, lines); err != nil {
			return nil, err
		}
		return func() { t.driver.Ledger.order(o) }, nil
	}
}

// order is one that is placed, as the ledger has it.
type order struct{ w, d, id, customer, lines, local int }

func (o *order) place(ctx context.Context, tx *sql.Tx, lines []line) error {
	var wTax, dTax, discount float64
	var last, credit string
	if err := tx.QueryRowContext(ctx, "SELECT w_tax FROM warehouse WHERE w_id = ?", o.w).Scan(&wTax); err != nil {
		return fmt.Errorf("warehouse: %w", err)
	}
	err := tx.QueryRowContext(ctx, "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", o.w, o.d).Scan(&dTax, &o.id)
	if err != nil {
		return fmt.Errorf("district: %w", err)
	}
	if err := change(ctx, tx, 1, "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?", o.id+1, o.w, o.d); err != nil {
		return err
	}
	err = tx.QueryRowContext(ctx, "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
		o.w, o.d, o.customer).Scan(&discount, &last, &credit)
	if err != nil {
		return fmt.Errorf("customer: %w", err)
	}
	err = change(ctx, tx, 1, "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, ?, NULL, ?, ?)",
		o.id, o.d, o.w, o.customer, time.Now().UTC().Format(time.DateTime), o.lines, o.local)
	if err != nil {
		return err
	}
	if err := change(ctx, tx, 1, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", o.id, o.d, o.w); err != nil {
		return err
	}
	rows := make([]string, 0, len(lines))
	var args []any
	for i, l := range lines {
		amount, info, err := o.supply(ctx, tx, l)
		if err != nil {
			return err
		}
		rows = append(rows, "(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)")
		args = append(args, o.id, o.d, o.w, i+1, l.item, l.supply, l.quantity, amount, info)
	}
	return change(ctx, tx, int64(len(lines)), "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, "+
		"ol_quantity, ol_amount, ol_dist_info) VALUES "+strings.Join(rows, ", "), args...)
}

// supply takes a line from the stock.
func (o *order) supply(ctx context.Context, tx *sql.Tx, l line) (amount cents, info string, err error) {
	var price cents
	var name, data string
	err = tx.QueryRowContext(ctx, "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", l.item).Scan(&price, &name, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", errRolledBack
	}
	if err != nil {
		return 0, "", fmt.Errorf("item: %w", err)
	}
	var quantity int
	err = tx.QueryRowContext(ctx, fmt.Sprintf("SELECT s_quantity, s_data, s_dist_%02d FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE", (o.d-1)%10+1),
		l.supply, l.item).Scan(&quantity, &data, &info)
	if err != nil {
		return 0, "", fmt.Errorf("stock: %w", err)
	}
	if quantity -= l.quantity; quantity < 10 {
		quantity += 91
	}
	remote := 0
	if l.supply != o.w {
		remote = 1
	}
	err = change(ctx, tx, 1, "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? "+
		"WHERE s_w_id = ? AND s_i_id = ?", quantity, l.quantity, remote, l.supply, l.item)
	return price * cents(l.quantity), info, err
}
