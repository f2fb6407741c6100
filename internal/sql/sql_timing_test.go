package sql_test

import (
	"context"
	"fmt"
	"testing"
)

// Statements through GMS's engine, without a network: parsed, planned, run, read to the end.
func BenchmarkStatement(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"point select", "SELECT c FROM t WHERE id = %d"},
		{"select 1", "SELECT 1"},
		{"select by secondary", "SELECT c FROM t WHERE k = %d"},
		{"select covered", "SELECT k FROM t WHERE k = %d"},
		{"range of 100", "SELECT c FROM t WHERE id BETWEEN %d AND 99 + %[1]d"},
		{"update", "UPDATE t SET n = n + 1 WHERE id = %d"},
		{"update of an index", "UPDATE t SET k = k + 1 WHERE id = %d"},
		{"insert", "INSERT INTO u VALUES (%d, 'some text', 5)"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := newClient(openBackend(b), 1)
			defer c.close()
			c.query("CREATE DATABASE d")
			c.session.SetCurrentDatabase("d")
			c.query("CREATE TABLE t (id INT PRIMARY KEY, k INT, n INT, c VARCHAR(120), KEY (k))")
			c.query("CREATE TABLE u (id INT PRIMARY KEY, c VARCHAR(120), n INT)")
			c.query("BEGIN")
			for i := range 1000 {
				c.query(fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 0, '%0119d')", i, i, i))
			}
			c.query("COMMIT")
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				text := bench.text
				switch bench.name {
				case "select 1":
				case "insert":
					text = fmt.Sprintf(text, i)
				default:
					text = fmt.Sprintf(text, i%900)
				}
				if got := c.run(context.Background(), text); got == "none" {
					b.Fatal(text, got)
				}
			}
		})
	}
}
