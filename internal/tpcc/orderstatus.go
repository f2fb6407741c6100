package tpcc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// orderStatus is clause 2.6: a customer asks for the last order.
func (t *Terminal) orderStatus() func(context.Context, *sql.Tx) (func(), error) {
	c := t.who(t.warehouse(), t.district())
	return func(ctx context.Context, tx *sql.Tx) (func(), error) {
		id, err := c.find(ctx, tx)
		if err != nil {
			return nil, err
		}
		var first, last string
		var balance cents
		err = tx.QueryRowContext(ctx, "SELECT c_first, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", c.w, c.d, id).
			Scan(&first, &last, &balance)
		if err != nil {
			return nil, fmt.Errorf("customer: %w", err)
		}
		var order int
		var entered string
		var carrier sql.NullInt64
		err = tx.QueryRowContext(ctx, "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
			c.w, c.d, id).Scan(&order, &entered, &carrier)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("customer %d of district %d of warehouse %d has no order, and each had one at first", id, c.d, c.w)
		}
		if err != nil {
			return nil, fmt.Errorf("orders: %w", err)
		}
		return nothing, linesOf(ctx, tx, c.w, c.d, order)
	}
}

// linesOf reads the lines of an order; there are some.
func linesOf(ctx context.Context, tx *sql.Tx, w, d, order int) error {
	rows, err := tx.QueryContext(ctx, "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "+
		"WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, order)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var item, supply, quantity int
		var amount cents
		var delivered sql.NullString
		if err := rows.Scan(&item, &supply, &quantity, &amount, &delivered); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n < leastLines {
		return fmt.Errorf("order %d of district %d of warehouse %d has %d lines, want %d at least", order, d, w, n, leastLines)
	}
	return nil
}
