package tpcc

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// LoadConfig says how a database is filled.
type LoadConfig struct {
	Scale    Scale
	Loaders  int // connections that load at a time, a warehouse each
	Seed     uint64
	Progress func(warehouses int) // told how many warehouses are complete, when it changes; may be nil
}

// Load makes the tables in an empty database and fills them as clause 4.3.3 says.
func Load(ctx context.Context, db *sql.DB, cfg LoadConfig) error {
	if err := cfg.Scale.Validate(); err != nil {
		return err
	}
	if err := createTables(ctx, db); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var next, done atomic.Int64
	for range max(1, cfg.Loaders) {
		wg.Go(func() {
			for w := int(next.Add(1)) - 1; w <= cfg.Scale.Warehouses; w = int(next.Add(1)) - 1 {
				l := &loader{ctx: ctx, db: db, random: newRandom(cfg.Seed, uint64(w)<<32, cfg.Scale), now: time.Now().UTC().Format(time.DateTime)}
				if w == 0 { // not a warehouse: what they have in common
					l.items()
				} else {
					l.warehouse(w)
				}
				if l.err != nil {
					cancel(fmt.Errorf("load warehouse %d: %w", w, l.err))
					return
				}
				if n := done.Add(1); w > 0 && cfg.Progress != nil {
					cfg.Progress(int(min(n, int64(cfg.Scale.Warehouses))))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return analyze(ctx, db)
}

// analyze gives planners their statistics. Without them some prefer the first two columns of CUSTOMER's primary key, which 3,000
// rows share, to three columns of the index of names.
func analyze(ctx context.Context, db *sql.DB) error {
	return each(ctx, db, func(rows *sql.Rows) error {
		var table, op, kind, text string
		if err := rows.Scan(&table, &op, &kind, &text); err != nil {
			return err
		}
		if strings.EqualFold(kind, "error") {
			return fmt.Errorf("%s: %s", table, text)
		}
		return nil
	}, "ANALYZE TABLE warehouse, district, customer, history, new_order, orders, order_line, item, stock")
}

// loader fills one warehouse. After an error it does nothing more.
type loader struct {
	*random
	ctx context.Context
	db  *sql.DB
	now string
	err error
}

// batchBytes is about how long one INSERT gets, far below max_allowed_packet.
const batchBytes = 128 << 10

// insert collects rows of a table and sends them by the batch.
type insert struct {
	l     *loader
	table string
	text  strings.Builder
}

func (l *loader) into(table string) *insert { return &insert{l: l, table: table} }

// row adds values: int, cents, string (without anything to escape), or nil.
func (i *insert) row(values ...any) {
	if i.l.err != nil {
		return
	}
	if i.text.Len() == 0 {
		i.text.WriteString("INSERT INTO " + i.table + " VALUES ")
	} else {
		i.text.WriteByte(',')
	}
	for n, v := range values {
		i.text.WriteByte("(,"[min(n, 1)])
		switch v := v.(type) {
		case nil:
			i.text.WriteString("NULL")
		case int:
			i.text.WriteString(strconv.Itoa(v))
		case cents:
			i.text.WriteString(v.String())
		case tax:
			fmt.Fprintf(&i.text, "0.%04d", int(v))
		case string:
			i.text.WriteString("'" + v + "'")
		default:
			panic(fmt.Sprintf("BUG: a value of type %T in a row of %s", v, i.table))
		}
	}
	i.text.WriteByte(')')
	if i.text.Len() >= batchBytes {
		i.send()
	}
}

func (i *insert) send() {
	if i.l.err != nil || i.text.Len() == 0 {
		return
	}
	if _, err := i.l.db.ExecContext(i.l.ctx, i.text.String()); err != nil {
		i.l.err = fmt.Errorf("insert into %s: %w", i.table, err)
	}
	i.text.Reset()
}

// tax is a rate in ten-thousandths.
type tax int

func (l *loader) items() {
	t := l.into("item")
	for i := range l.scale.Items {
		t.row(i+1, l.between(1, 10_000), l.text(14, 24), cents(l.between(100, 10_000)), l.data())
	}
	t.send()
}

// What a customer has paid at first; the sums of the year follow from it, so that condition 1 holds.
const firstPayment cents = 10_00

func (l *loader) warehouse(w int) {
	s := l.scale
	perDistrict := firstPayment * cents(s.Customers)
	t := l.into("warehouse")
	t.row(w, l.text(6, 10), l.text(10, 20), l.text(10, 20), l.text(10, 20), l.text(2, 2), l.zip(), tax(l.between(0, 2000)), perDistrict*cents(s.Districts))
	t.send()
	l.stock(w)
	districts := l.into("district")
	for d := 1; d <= s.Districts; d++ {
		districts.row(d, w, l.text(6, 10), l.text(10, 20), l.text(10, 20), l.text(10, 20), l.text(2, 2), l.zip(),
			tax(l.between(0, 2000)), perDistrict, s.Customers+1)
		l.customers(w, d)
		l.orders(w, d)
	}
	districts.send()
}

func (l *loader) stock(w int) {
	t := l.into("stock")
	for i := range l.scale.Items {
		row := []any{i + 1, w, l.between(10, 100)}
		for range 10 {
			row = append(row, l.text(24, 24))
		}
		t.row(append(row, 0, 0, 0, l.data())...)
	}
	t.send()
}

func (l *loader) customers(w, d int) {
	s := l.scale
	customers, history := l.into("customer"), l.into("history")
	for c := 1; c <= s.Customers; c++ {
		last := lastName((c - 1) % 1000)
		if c > 1000 {
			last = l.lastName()
		}
		credit := "GC"
		if l.IntN(10) == 0 {
			credit = "BC"
		}
		customers.row(c, d, w, l.text(8, 16), "OE", last, l.text(10, 20), l.text(10, 20), l.text(10, 20), l.text(2, 2), l.zip(), l.digits(16), l.now,
			credit, cents(50_000_00), tax(l.between(0, 5000)), -firstPayment, firstPayment, 1, 0, l.text(300, 500))
		history.row(((w-1)*s.Districts+d-1)*s.Customers+c, c, d, w, d, w, l.now, firstPayment, l.text(12, 24))
	}
	customers.send()
	history.send()
}

func (l *loader) orders(w, d int) {
	s := l.scale
	orders, lines, waiting := l.into("orders"), l.into("order_line"), l.into("new_order")
	customer := l.Perm(s.Customers)
	for o := 1; o <= s.Customers; o++ {
		n := l.between(leastLines, mostLines)
		var carrier, delivered any = l.between(1, 10), l.now
		if o > s.delivered() {
			carrier, delivered = nil, nil
			waiting.row(o, d, w)
		}
		orders.row(o, d, w, customer[o-1]+1, l.now, carrier, n, 1)
		for number := 1; number <= n; number++ {
			var amount cents
			if delivered == nil {
				amount = cents(l.between(1, 999_999))
			}
			lines.row(o, d, w, number, l.between(1, s.Items), w, delivered, 5, amount, l.text(24, 24))
		}
	}
	orders.send()
	lines.send()
	waiting.send()
}
