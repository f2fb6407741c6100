package tpcc

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// Ledger is what was acknowledged: the oracle after a crash.
type Ledger struct {
	scale Scale

	mu       sync.Mutex // guards what follows
	orders   []order
	payments []payment
}

func (l *Ledger) order(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders = append(l.orders, o)
}

func (l *Ledger) payment(p payment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.payments = append(l.payments, p)
}

// Acknowledged is how many New-Orders and Payments.
func (l *Ledger) Acknowledged() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.orders) + len(l.payments))
}

// LostError: the database lacks New-Orders or Payments that were acknowledged, or has others in their place.
type LostError struct {
	Commits int64  // in all
	First   string // one of them
}

func (e *LostError) Error() string {
	return fmt.Sprintf("LOST: %d acknowledged transactions, among them %s", e.Commits, e.First)
}

// Verify looks for every acknowledged New-Order and Payment in the database. It returns a LostError when one is not as it was
// acknowledged.
func (l *Ledger) Verify(ctx context.Context, db *sql.DB) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := &LostError{}
	miss := func(format string, args ...any) {
		if lost.Commits++; lost.Commits == 1 {
			lost.First = fmt.Sprintf(format, args...)
		}
	}
	orders, err := l.findOrders(ctx, db)
	if err != nil {
		return err
	}
	for _, o := range l.orders {
		if got, ok := orders[[3]int{o.w, o.d, o.id}]; !ok {
			miss("order %d of district %d of warehouse %d, which is not there", o.id, o.d, o.w)
		} else if got != o {
			miss("order %d of district %d of warehouse %d: got %+v, want %+v", o.id, o.d, o.w, got, o)
		}
	}
	payments, err := l.findPayments(ctx, db)
	if err != nil {
		return err
	}
	for _, p := range l.payments {
		if got, ok := payments[p.id]; !ok {
			miss("payment %d of %s, which is not there", p.id, p.amount)
		} else if got != p.amount {
			miss("payment %d: got %s, want %s", p.id, got, p.amount)
		}
	}
	if lost.Commits > 0 {
		return lost
	}
	return nil
}

// findOrders that came after the load.
func (l *Ledger) findOrders(ctx context.Context, db *sql.DB) (map[[3]int]order, error) {
	found := map[[3]int]order{}
	for w := 1; w <= l.scale.Warehouses; w++ {
		for d := 1; d <= l.scale.Districts; d++ {
			err := each(ctx, db, func(rows *sql.Rows) error {
				o := order{w: w, d: d}
				if err := rows.Scan(&o.id, &o.customer, &o.lines, &o.local); err != nil {
					return err
				}
				found[[3]int{w, d, o.id}] = o
				return nil
			}, "SELECT o_id, o_c_id, o_ol_cnt, o_all_local FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id > ?", w, d, l.scale.Customers)
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// findPayments that came after the load.
func (l *Ledger) findPayments(ctx context.Context, db *sql.DB) (map[int64]cents, error) {
	found := map[int64]cents{}
	err := each(ctx, db, func(rows *sql.Rows) error {
		var p payment
		if err := rows.Scan(&p.id, &p.amount); err != nil {
			return err
		}
		found[p.id] = p.amount
		return nil
	}, "SELECT h_id, h_amount FROM history WHERE h_id >= ?", int64(terminalIDs))
	return found, err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f for each row of a result.
func each(ctx context.Context, q querier, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}
