package sql_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
)

// TestCheck: what is sound is clean, each kind of damage is found, and a database without SQL stays without.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(tx *hearth.Tx, rows, index string) error
		want  string // in a finding; empty: none
	}{
		{"sound", func(*hearth.Tx, string, string) error { return nil }, ""},
		{"a row gone", func(tx *hearth.Tx, rows, _ string) error { return removeFirst(tx, rows) }, "there is no row"},
		{"an entry gone", func(tx *hearth.Tx, _, index string) error { return removeFirst(tx, index) }, "has not its entry"},
		{"a tree too many", func(tx *hearth.Tx, rows, _ string) error { _, err := tx.CreateTree(rows + "0"); return err }, "belongs to no table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			db, err := hearth.Open(ctx, t.TempDir(), &hearth.Options{
				Memory: hearth.MemoryOff, Durability: hearth.DurabilityProcess, PoolSize: 16 << 20, SmallPages: true,
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if findings, err := sql.Check(ctx, db); err != nil || len(findings) > 0 {
				t.Fatalf("without SQL: %v %v", err, findings)
			}
			err = db.View(ctx, func(tx *hearth.Tx) error {
				names, err := tx.Trees()
				if len(names) > 0 {
					t.Errorf("the check made %v", names)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			rows, index := makeTable(t, db)
			if err := db.Update(ctx, func(tx *hearth.Tx) error { return c.spoil(tx, rows, index) }); err != nil {
				t.Fatal(err)
			}
			findings, err := sql.Check(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(findings, "\n")
			if (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
				t.Errorf("found %q, want %q", all, c.want)
			}
		})
	}
}

// makeTable makes a table with an index, and names their trees.
func makeTable(t *testing.T, db *hearth.DB) (rows, index string) {
	t.Helper()
	b, err := sql.Open(context.Background(), db, sql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	c := newClient(b, 1)
	defer c.close()
	c.query("CREATE DATABASE d")
	c.session.SetCurrentDatabase("d")
	c.query("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))")
	c.query("INSERT INTO t VALUES (1, 10), (2, 20)")
	trees := b.Dict().Schema().Table("d", "t").Trees()
	return trees[0], trees[1]
}

func removeFirst(tx *hearth.Tx, name string) error {
	tree, err := tx.Tree(name)
	if err != nil {
		return err
	}
	c := tree.Cursor()
	defer c.Close()
	if !c.First() {
		return hearth.ErrKeyNotFound
	}
	_, err = tree.Delete(c.Key())
	return err
}
