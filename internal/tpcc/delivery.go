package tpcc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// delivery is clause 2.7: the oldest order that waits in each district of a warehouse is delivered.
func (t *Terminal) delivery() func(context.Context, *sql.Tx) (func(), error) {
	w, carrier := t.warehouse(), t.random.between(1, 10)
	return func(ctx context.Context, tx *sql.Tx) (func(), error) {
		for d := 1; d <= t.driver.scale.Districts; d++ {
			if err := deliver(ctx, tx, w, d, carrier); err != nil {
				return nil, err
			}
		}
		return nothing, nil
	}
}

func deliver(ctx context.Context, tx *sql.Tx, w, d, carrier int) error {
	var order, customer int
	err := tx.QueryRowContext(ctx, "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE", w, d).Scan(&order)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // none waits: 2.7.4.2
	}
	if err != nil {
		return fmt.Errorf("new_order: %w", err)
	}
	result, err := tx.ExecContext(ctx, "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", w, d, order)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errTaken, err)
	}
	err = tx.QueryRowContext(ctx, "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", w, d, order).Scan(&customer)
	if err != nil {
		return fmt.Errorf("orders: order %d: %w", order, err)
	}
	if err := change(ctx, tx, 1, "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", carrier, w, d, order); err != nil {
		return err
	}
	var amount cents
	err = tx.QueryRowContext(ctx, "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, order).Scan(&amount)
	if err != nil {
		return fmt.Errorf("order_line: order %d: %w", order, err)
	}
	_, err = tx.ExecContext(ctx, "UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
		time.Now().UTC().Format(time.DateTime), w, d, order)
	if err != nil {
		return err
	}
	return change(ctx, tx, 1, "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
		amount, w, d, customer)
}
