package tpcc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// Kind is one of the five transactions.
type Kind int

// The transactions, in the order of clause 2.
const (
	NewOrder Kind = iota
	Payment
	OrderStatus
	Delivery
	StockLevel
	kinds
)

func (k Kind) String() string {
	return [...]string{"New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"}[k]
}

// deck is the mix: the cards of clause 5.2.4.2, dealt one after the other and shuffled again when none is left.
var deck = func() (d []Kind) {
	for k, cards := range [kinds]int{10, 10, 1, 1, 1} {
		d = append(d, slices.Repeat([]Kind{Kind(k)}, cards)...)
	}
	return d
}()

// Driver is a load on one database: its terminals share a ledger and statistics.
type Driver struct {
	Ledger Ledger
	Stats  Stats

	scale Scale
	seed  uint64
}

// NewDriver of a database that was loaded with this scale.
func NewDriver(s Scale, seed uint64) *Driver {
	return &Driver{scale: s, seed: seed, Ledger: Ledger{scale: s}, Stats: Stats{kinds: newHistograms()}}
}

// Terminal is one client. It works in one goroutine at a time.
type Terminal struct {
	driver *Driver
	number int
	db     *sql.DB
	random *random
	cards  []Kind
	paid   int64 // the h_id of its last payment, acknowledged or not; 0: not known yet
}

// Terminal makes the client with this number, from 0 on, that works through db.
func (d *Driver) Terminal(number int, db *sql.DB) *Terminal {
	return &Terminal{driver: d, number: number, db: db, random: newRandom(d.seed, uint64(1+number), d.scale).running()}
}

// mostTries: a transaction that meets so many conflicts in a row is given up.
const mostTries = 1000

// Do draws a transaction and does it, until it is committed, or rolled back as its profile demands.
func (t *Terminal) Do(ctx context.Context) error {
	if len(t.cards) == 0 {
		t.cards = slices.Clone(deck)
		t.random.Shuffle(len(t.cards), func(i, j int) { t.cards[i], t.cards[j] = t.cards[j], t.cards[i] })
	}
	kind := t.cards[0]
	var do func(context.Context, *sql.Tx) (acknowledged func(), err error)
	switch kind {
	case NewOrder:
		do = t.newOrder()
	case Payment:
		var err error
		if do, err = t.payment(ctx); err != nil {
			return err
		}
	case OrderStatus:
		do = t.orderStatus()
	case Delivery:
		do = t.delivery()
	case StockLevel:
		do = t.stockLevel()
	}
	count := t.driver.Stats.begin(kind)
	for range mostTries {
		switch err := t.try(ctx, do); {
		case err == nil:
			t.cards = t.cards[1:]
			count(true)
			return nil
		case errors.Is(err, errRolledBack):
			t.cards = t.cards[1:]
			count(false)
			return nil
		case !isConflict(err):
			return fmt.Errorf("%v: %w", kind, err)
		}
		t.driver.Stats.retry()
	}
	return fmt.Errorf("%v: %d conflicts in a row", kind, mostTries)
}

func (t *Terminal) try(ctx context.Context, do func(context.Context, *sql.Tx) (func(), error)) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	acknowledged, err := do(ctx, tx)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	acknowledged()
	return nil
}

// errRolledBack: the transaction was rolled back because its profile says so (2.4.1.4).
var errRolledBack = errors.New("rolled back: unused item number")

// errTaken: what the transaction wanted to change was taken by another one meanwhile.
var errTaken = errors.New("taken by another transaction")

// Error numbers of the protocol.
const (
	erLockWait = 1205
	erDeadlock = 1213
)

func isConflict(err error) bool {
	var e *mysql.MySQLError
	return errors.Is(err, errTaken) || errors.As(err, &e) && (e.Number == erLockWait || e.Number == erDeadlock)
}

// nothing is what a transaction without an entry in the ledger does when it is acknowledged.
func nothing() {}

// warehouse draws one.
func (t *Terminal) warehouse() int { return t.random.between(1, t.driver.scale.Warehouses) }

func (t *Terminal) district() int { return t.random.between(1, t.driver.scale.Districts) }

// otherThan draws another warehouse, if there is one.
func (t *Terminal) otherThan(w int) int {
	if t.driver.scale.Warehouses == 1 {
		return w
	}
	other := t.random.between(1, t.driver.scale.Warehouses-1)
	if other >= w {
		other++
	}
	return other
}

// change executes a statement that changes n rows.
func change(ctx context.Context, tx *sql.Tx, n int64, query string, args ...any) error {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if got, err := result.RowsAffected(); err != nil || got != n {
		return fmt.Errorf("%.50s...: %d rows affected, want %d (%v)", query, got, n, err)
	}
	return nil
}
