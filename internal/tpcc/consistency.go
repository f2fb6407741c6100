package tpcc

import (
	"context"
	"database/sql"
	"fmt"
)

// InconsistentError: a consistency condition of clause 3.3.2 does not hold.
type InconsistentError struct {
	Condition int // 1 to 4
	Places    int // warehouses or districts where it does not hold
	First     string
}

func (e *InconsistentError) Error() string {
	return fmt.Sprintf("consistency condition %d does not hold in %d places: %s", e.Condition, e.Places, e.First)
}

// district is what the conditions say something about.
type district struct {
	w, d     int
	ytd      cents
	next     int // d_next_o_id
	largest  int // o_id
	lines    int // sum of o_ol_cnt
	counted  int // rows of order_line
	waiting  int // rows of new_order
	from, to int // no_o_id
}

// Check holds the database against consistency conditions 1 to 4 (3.3.2.1 to 3.3.2.4), in one snapshot. The error has every
// condition that does not hold as an InconsistentError; errors.Join joins them.
func Check(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	warehouses, districts, err := read(ctx, tx)
	if err != nil {
		return fmt.Errorf("consistency conditions: %w", err)
	}
	return judge(warehouses, districts)
}

type places map[[2]int]*district

func (p places) at(w, d int) *district {
	k := [2]int{w, d}
	if p[k] == nil {
		p[k] = &district{w: w, d: d}
	}
	return p[k]
}

// read asks for sums by district; what is compared is compared here, so that an error says both numbers.
func read(ctx context.Context, tx *sql.Tx) (warehouses map[int]cents, all places, err error) {
	warehouses, all = map[int]cents{}, places{}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var w int
		var ytd cents
		defer func() { warehouses[w] = ytd }()
		return rows.Scan(&w, &ytd)
	}, "SELECT w_id, w_ytd FROM warehouse")
	if err != nil {
		return nil, nil, err
	}
	for _, x := range []struct {
		query string
		into  func(*district) []any
	}{
		{"SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district", func(d *district) []any { return []any{&d.ytd, &d.next} }},
		{"SELECT o_w_id, o_d_id, MAX(o_id), SUM(o_ol_cnt) FROM orders GROUP BY o_w_id, o_d_id", func(d *district) []any { return []any{&d.largest, &d.lines} }},
		{
			"SELECT no_w_id, no_d_id, COUNT(*), MIN(no_o_id), MAX(no_o_id) FROM new_order GROUP BY no_w_id, no_d_id",
			func(d *district) []any { return []any{&d.waiting, &d.from, &d.to} },
		},
		{"SELECT ol_w_id, ol_d_id, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id", func(d *district) []any { return []any{&d.counted} }},
	} {
		err := each(ctx, tx, func(rows *sql.Rows) error {
			var got district
			if err := rows.Scan(append([]any{&got.w, &got.d}, x.into(&got)...)...); err != nil {
				return err
			}
			all.at(got.w, got.d).add(got)
			return nil
		}, x.query)
		if err != nil {
			return nil, nil, err
		}
	}
	return warehouses, all, nil
}

// add what one query found; each tells other fields.
func (d *district) add(x district) {
	d.ytd, d.next = d.ytd+x.ytd, d.next+x.next
	d.largest, d.lines, d.counted = d.largest+x.largest, d.lines+x.lines, d.counted+x.counted
	d.waiting, d.from, d.to = d.waiting+x.waiting, d.from+x.from, d.to+x.to
}
