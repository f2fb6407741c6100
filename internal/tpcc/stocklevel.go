package tpcc

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// recentOrders are what Stock-Level looks at.
const recentOrders = 20

// stockLevel is clause 2.8: how many of the items sold last are short in stock. The join is done here, in two statements: what is
// measured is storage, not planners.
func (t *Terminal) stockLevel() func(context.Context, *sql.Tx) (func(), error) {
	w, d, threshold := t.warehouse(), t.district(), t.random.between(10, 20)
	return func(ctx context.Context, tx *sql.Tx) (func(), error) {
		var next int
		if err := tx.QueryRowContext(ctx, "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d).Scan(&next); err != nil {
			return nil, fmt.Errorf("district: %w", err)
		}
		items, err := itemsSold(ctx, tx, w, d, next-recentOrders, next)
		if err != nil || len(items) == 0 {
			return nothing, err
		}
		var short int
		err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM stock WHERE s_w_id = ? AND s_i_id IN (?"+strings.Repeat(", ?", len(items)-1)+") AND s_quantity < ?",
			append(append([]any{w}, items...), threshold)...).Scan(&short)
		if err != nil {
			return nil, fmt.Errorf("stock: %w", err)
		}
		return nothing, nil
	}
}

// itemsSold by the orders from..to-1 of a district, each once.
func itemsSold(ctx context.Context, tx *sql.Tx, w, d, from, to int) (items []any, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT ol_i_id FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?", w, d, from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var item int
		if err := rows.Scan(&item); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}
