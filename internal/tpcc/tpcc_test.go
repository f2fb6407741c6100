package tpcc

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/testbed"
)

// binary is hearth, built for these tests.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hearth-tpcc-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "hearth")
	build := exec.Command("go", "build", "-o", binary, "github.com/hearthdb/hearth/cmd/hearth")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

var tiny = Scale{Warehouses: 2, Districts: 3, Customers: 40, Items: 100}

// loaded starts a server and loads the tiny scale.
func loaded(t *testing.T, name string) (*peer.Server, *sql.DB) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hearth-tpcc-") // shorter than t.TempDir: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	start := map[string]func(peer.Config) (*peer.Server, error){"hearth": peer.Hearth(binary, testbed.MemoryDir(t)), "mariadb": peer.MariaDB}[name]
	s, err := start(peer.Config{Dir: dir, Pool: 64 << 20, LogSize: 256 << 20, Durable: true})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	open := func(database string) *sql.DB {
		db, err := s.Open(database)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	if _, err := open("").Exec("CREATE DATABASE tpcc"); err != nil {
		t.Fatal(err)
	}
	db := open("tpcc")
	if err := Load(t.Context(), db, LoadConfig{Scale: tiny, Loaders: 2, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	return s, db
}

// work lets terminals work until they have had n acknowledgements of the ledger more, then calls done, and returns when they have
// ended. Until done is called no error is allowed.
func work(t *testing.T, d *Driver, s *peer.Server, n int64, done func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	want := d.Ledger.Acknowledged() + n
	var once sync.Once
	var over sync.WaitGroup
	ended := make(chan struct{})
	for number := range 4 {
		over.Go(func() {
			db, err := s.Open("tpcc")
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			for terminal := d.Terminal(number, db); ; {
				err := terminal.Do(ctx)
				select {
				case <-ended:
					return
				default:
				}
				if err != nil {
					t.Error(err)
					return
				}
				if d.Ledger.Acknowledged() >= want {
					once.Do(func() { close(ended); done() })
					return
				}
			}
		})
	}
	over.Wait()
}

// holds: the conditions, and what was acknowledged.
func holds(t *testing.T, d *Driver, db *sql.DB) {
	t.Helper()
	if err := Check(t.Context(), db); err != nil {
		t.Error(err)
	}
	if err := d.Ledger.Verify(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// After a load, after work, and after each of two kills in the middle of work all conditions hold and nothing acknowledged is lost.
func TestConditionsHoldAfterKill(t *testing.T) {
	for _, name := range []string{"hearth", "mariadb"} {
		t.Run(name, func(t *testing.T) {
			s, db := loaded(t, name)
			d := NewDriver(tiny, 1)
			holds(t, d, db)
			before := d.Stats.Report()
			start := time.Now()
			work(t, d, s, 300, func() {})
			holds(t, d, db)
			r := d.Stats.Report()
			t.Logf("%.0f NOTPM; %+v", NOTPM(before, r, time.Since(start)), r)
			for k, n := range r.Committed {
				if n == 0 {
					t.Errorf("no %v was committed", Kind(k))
				}
			}
			for range 2 {
				work(t, d, s, 100, func() {
					if err := s.Kill(); err != nil {
						t.Error(err)
					}
				})
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				holds(t, d, db)
			}
			for _, q := range Scans {
				var n int
				if err := db.QueryRow(q).Scan(&n); err != nil || n == 0 {
					t.Errorf("%s: %d rows, %v", q, n, err)
				}
			}
		})
	}
}

// Each condition fails for its own damage, alone, and holds again when that is mended.
func TestCheckFindsDamage(t *testing.T) {
	_, db := loaded(t, "hearth")
	for condition, x := range map[int]struct{ damage, mend string }{
		1: {"UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 2 AND d_id = 3", "UPDATE district SET d_ytd = d_ytd - 0.01 WHERE d_w_id = 2 AND d_id = 3"},
		2: {"UPDATE district SET d_next_o_id = 42 WHERE d_w_id = 1 AND d_id = 1", "UPDATE district SET d_next_o_id = 41 WHERE d_w_id = 1 AND d_id = 1"},
		3: {"DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 35", "INSERT INTO new_order VALUES (35, 2, 1)"},
		4: {"UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 7", "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 7"},
	} {
		t.Run(fmt.Sprint(condition), func(t *testing.T) {
			mustChange(t, db, x.damage)
			var found *InconsistentError
			err := Check(t.Context(), db)
			if !errors.As(err, &found) || found.Condition != condition || found.Places != 1 || err.Error() != found.Error() {
				t.Errorf("got %v, want condition %d and no other", err, condition)
			}
			mustChange(t, db, x.mend)
			if err := Check(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
}

// The largest of the waiting orders belongs to condition 2 as well.
func TestCheckFindsALostNewOrder(t *testing.T) {
	d := &district{w: 1, d: 1, next: 41, largest: 40, waiting: 3, from: 37, to: 39}
	var found *InconsistentError
	if err := judge(nil, places{{1, 1}: d}); !errors.As(err, &found) || found.Condition != 2 {
		t.Errorf("got %v, want condition 2", err)
	}
}

// An acknowledged transaction that is taken away is missed.
func TestVerifyMissesWhatIsLost(t *testing.T) {
	s, db := loaded(t, "hearth")
	d := NewDriver(tiny, 1)
	work(t, d, s, 60, func() {})
	holds(t, d, db)
	o, p := d.Ledger.orders[3], d.Ledger.payments[3]
	for _, x := range []struct{ name, damage string }{ // in this order: what is gone cannot be changed
		{"a payment has another amount", fmt.Sprintf("UPDATE history SET h_amount = h_amount + 1 WHERE h_id = %d", p.id)},
		{"a payment is gone", fmt.Sprintf("DELETE FROM history WHERE h_id = %d", p.id)},
		{"an order is gone", fmt.Sprintf("DELETE FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", o.w, o.d, o.id)},
	} {
		mustChange(t, db, x.damage)
		var lost *LostError
		if err := d.Ledger.Verify(t.Context(), db); !errors.As(err, &lost) || lost.Commits < 1 || lost.Commits > 2 {
			t.Errorf("%s: got %v", x.name, err)
		}
	}
}

func mustChange(t *testing.T, db *sql.DB, q string) {
	t.Helper()
	r, err := db.Exec(q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", q, n, err)
	}
}
