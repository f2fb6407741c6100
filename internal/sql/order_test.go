package sql_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOrder: whatever index gives the order of a query, its rows are those of the same query without ORDER BY, sorted.
func TestOrder(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := newClient(openBackend(t), 1)
	defer c.close()
	c.query("CREATE DATABASE d")
	c.session.SetCurrentDatabase("d")
	columns := []string{"a", "b", "c", "id"}
	for table := range 12 {
		name := fmt.Sprintf("t%d", table)
		primary := []string{"id", "a, id", "b, a, id"}[r.IntN(3)]
		keys := ""
		for i := range 1 + r.IntN(3) {
			parts := columns[:3:3]
			parts = slices.Clone(parts)
			r.Shuffle(3, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			kind := "KEY"
			if i == 0 && r.IntN(3) == 0 {
				kind, parts = "UNIQUE KEY", append(parts[:r.IntN(2)], "id")
			} else {
				parts = parts[:1+r.IntN(3)]
			}
			keys += fmt.Sprintf(", %s k%d (%s)", kind, i, strings.Join(parts, ", "))
		}
		c.query(fmt.Sprintf("CREATE TABLE %s (a INT NOT NULL, b INT NOT NULL, c INT, id INT, PRIMARY KEY (%s)%s)", name, primary, keys))
		for id := range 40 {
			third := fmt.Sprint(r.IntN(4))
			if r.IntN(5) == 0 {
				third = "NULL"
			}
			c.query(fmt.Sprintf("INSERT INTO %s VALUES (%d, %d, %s, %d)", name, r.IntN(4), r.IntN(4), third, id))
		}
		for range 40 {
			where := []string{"TRUE", "a = 1", "a = 1 AND b = 2", "b = 1 AND c IS NULL", "a IN (1, 3)", "a > 1", "b = 2 AND a < 3", "c = 1",
				"a = 1 AND c > 0", "id = 7", "b = 2 AND (a = 1 OR a = 3)"}[r.IntN(11)]
			var by, fields []string
			direction := []string{"", " DESC"}[r.IntN(2)]
			for _, i := range r.Perm(4)[:1+r.IntN(3)] {
				fields = append(fields, columns[i])
				by = append(by, columns[i]+direction)
			}
			query := fmt.Sprintf("SELECT %s, a, b, c, id FROM %s WHERE %s", strings.Join(fields, ", "), name, where)
			plain := strings.Split(c.query(query), " | ")
			got := strings.Split(c.query(query+" ORDER BY "+strings.Join(by, ", ")), " | ")
			sorted := func(rows []string) bool {
				return slices.IsSortedFunc(rows, func(x, y string) int {
					n := compareFields(x, y, len(fields))
					if direction != "" {
						n = -n
					}
					return n
				})
			}
			if !sorted(got) || !sameRows(plain, got) {
				t.Fatalf("table %s: PRIMARY KEY (%s)%s: %s ORDER BY %s: got %v, of %v", name, primary, keys, query, strings.Join(by, ", "), got, plain)
			}
		}
	}
}

// compareFields compares the first n values of two rows: NULL, then numbers.
func compareFields(x, y string, n int) int {
	a, b := strings.Split(x, ","), strings.Split(y, ",")
	for i := range min(n, len(a), len(b)) {
		p, q := -1, -1
		fmt.Sscan(a[i], &p)
		fmt.Sscan(b[i], &q)
		if p != q {
			return p - q
		}
	}
	return 0
}

func sameRows(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
