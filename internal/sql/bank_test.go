package sql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"

	"github.com/hearthdb/hearth/internal/sql"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

// TestBank moves money between accounts in many sessions at once, in every way there is: with locking reads, with updates alone, in one
// statement; with rollbacks, deadlocks, statements that are killed, clients that go away. The sum stays, in every snapshot too, and
// indexes and rows agree at the end.
func TestBank(t *testing.T) {
	const accounts, clients = 12, 6
	steps := 150
	if testing.Short() {
		steps = 40
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	analyzer.ExternalFunctionProvider = sums{} // of the process: as a server has it
	t.Cleanup(func() { analyzer.ExternalFunctionProvider = nil })
	b := openBackend(t)
	setup := newClient(b, 100)
	defer setup.close()
	setup.query("CREATE DATABASE d")
	setup.session.SetCurrentDatabase("d")
	setup.query("CREATE TABLE a (id INT PRIMARY KEY, owner VARCHAR(20), n INT, seen INT DEFAULT 0, UNIQUE KEY (owner), KEY (n), KEY (seen, n))")
	for i := range accounts {
		setup.query(fmt.Sprintf("INSERT INTO a (id, owner, n) VALUES (%d, 'owner %d', 100)", i, i))
	}
	want := fmt.Sprint(accounts * 100)

	var all sync.WaitGroup
	for n := range clients {
		all.Add(1)
		go func() {
			defer all.Done()
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			c := newClient(b, uint32(n+1))
			defer func() { c.close() }()
			for i := range steps {
				if r.IntN(40) == 0 { // goes away, perhaps in a transaction
					c.close()
					c = newClient(b, uint32(n+1+100*(i+1)))
				}
				c.session.SetCurrentDatabase("d")
				if err := bankStep(c, r, accounts, want); err != "" {
					t.Errorf("client %d, step %d: %s", n, i, err)
					return
				}
			}
		}()
	}
	all.Wait()
	for _, where := range []string{"TRUE", "n > -100000", "owner > ''", "seen >= 0"} {
		if got := setup.query("SELECT SUM(n) FROM a WHERE " + where); got != want {
			t.Errorf("where %s the sum is %s, want %s", where, got, want)
		}
	}
	findings, err := b.Verify(context.Background())
	if err != nil || len(findings) > 0 {
		t.Errorf("verification: %v %v", err, findings)
	}
}

// sums has SUM, under the name that the parser gives it.
type sums struct{}

// Function implements gms.FunctionProvider.
func (sums) Function(_ *gms.Context, name string) (gms.Function, bool) {
	return gms.Function1{Name: "sum", Fn: sql.NewSum}, name == sqlparse.SumName
}

// bankStep does one thing to the accounts. It returns what must not be.
func bankStep(c *client, r *rand.Rand, accounts int, want string) string {
	from, to, n := r.IntN(accounts), r.IntN(accounts), r.IntN(50)
	if from == to {
		return ""
	}
	isolation := []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}[r.IntN(3)]
	var script []string
	switch r.IntN(6) {
	case 0: // locks first
		script = []string{"BEGIN",
			fmt.Sprintf("SELECT n FROM a WHERE id = %d FOR UPDATE", from),
			fmt.Sprintf("SELECT n FROM a WHERE owner = 'owner %d' FOR UPDATE", to),
			fmt.Sprintf("UPDATE a SET n = n - %d WHERE id = %d", n, from),
			fmt.Sprintf("UPDATE a SET n = n + %d WHERE owner = 'owner %d'", n, to),
		}
	case 1: // updates alone
		script = []string{"BEGIN",
			fmt.Sprintf("UPDATE a SET n = n - %d, seen = seen + 1 WHERE id = %d", n, from),
			"SAVEPOINT s", fmt.Sprintf("UPDATE a SET n = n + 1000 WHERE id = %d", to), "ROLLBACK TO s",
			fmt.Sprintf("UPDATE a SET n = n + %d WHERE id = %d", n, to),
		}
	case 2: // one statement
		return c.bank(r, fmt.Sprintf("UPDATE a SET n = n + IF(id = %d, -%d, %d) WHERE id IN (%d, %d)", from, n, n, from, to))
	case 3: // by a range of the index that is updated
		return c.bank(r, fmt.Sprintf("UPDATE a SET seen = seen + 1 WHERE n >= %d", n))
	case 4: // deleted and made anew
		script = []string{"BEGIN",
			fmt.Sprintf("SELECT n FROM a WHERE id = %d FOR UPDATE", from),
			fmt.Sprintf("DELETE FROM a WHERE id = %d", from),
			fmt.Sprintf("INSERT INTO a VALUES (%d, 'owner %d', %%s, 0)", from, from),
		}
	default: // reads
		c.run(context.Background(), "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		c.run(context.Background(), "BEGIN")
		for _, q := range []string{"SELECT SUM(n) FROM a", "SELECT SUM(n) FROM a WHERE n > -100000", "SELECT SUM(n) FROM a WHERE seen >= 0"} {
			if got := c.run(context.Background(), q); got != want {
				return fmt.Sprintf("%s: got %s, want %s", q, got, want)
			}
		}
		c.run(context.Background(), "COMMIT")
		return ""
	}
	c.run(context.Background(), "SET SESSION TRANSACTION ISOLATION LEVEL "+isolation)
	var balance string
	for _, q := range script {
		if strings.Contains(q, "%s") {
			q = fmt.Sprintf(q, balance)
		}
		got := c.run(context.Background(), q)
		if !strings.HasPrefix(got, "error") {
			if strings.HasPrefix(q, "SELECT") {
				if balance = got; got == "none" {
					return q + ": no such account"
				}
			}
			continue
		}
		if !strings.HasPrefix(got, "error 1213") && !strings.HasPrefix(got, "error 1205") {
			return q + ": " + got
		}
		c.run(context.Background(), "ROLLBACK")
		return ""
	}
	end := "COMMIT"
	if r.IntN(4) == 0 {
		end = "ROLLBACK"
	}
	if got := c.run(context.Background(), end); strings.HasPrefix(got, "error") {
		return end + ": " + got
	}
	return ""
}

// bank runs a statement that is a transaction of its own, and sometimes kills it.
func (c *client) bank(r *rand.Rand, q string) string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.IntN(3) == 0 {
		time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, cancel)
	}
	got := c.run(ctx, q)
	if strings.HasPrefix(got, "error") && !strings.HasPrefix(got, "error 1213") && !strings.HasPrefix(got, "error 1317") && !strings.HasPrefix(got, "error 1205") {
		return q + ": " + got
	}
	return ""
}
