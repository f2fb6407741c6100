package server

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// TestKillInTheEnd kills statements all the time, also while they commit: one that is told to be interrupted has done nothing.
func TestKillInTheEnd(t *testing.T) {
	s := start(t)
	db := open(t, s)
	c, killer, reader := conn(t, db), conn(t, db), conn(t, db)
	exec(t, reader, "CREATE TABLE killed (a INT PRIMARY KEY)")
	kill := "KILL QUERY " + rows(t, c, "SELECT CONNECTION_ID()")[0]
	stop := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				killer.ExecContext(context.Background(), kill)
			}
		}
	})
	defer killing.Wait()
	defer close(stop)
	insist := func(text string) {
		for {
			_, err := c.ExecContext(t.Context(), text)
			if err == nil {
				return
			}
			failsWith(t, err, 1317)
		}
	}
	const statements = 600
	interrupted := 0
	for n := range statements {
		last := fmt.Sprintf("INSERT INTO killed VALUES (%d)", n)
		insist("ROLLBACK") // a COMMIT that was interrupted leaves the transaction open
		if n%2 == 1 {
			insist("BEGIN")
			insist(last)
			last = "COMMIT"
		}
		want := "1"
		if _, err := c.ExecContext(t.Context(), last); err != nil {
			failsWith(t, err, 1317)
			interrupted++
			want = "0"
		}
		if got := rows(t, reader, "SELECT COUNT(*) FROM killed WHERE a = ?", n); got[0] != want {
			t.Fatalf("after %q the row is there %s times, want %s", last, got[0], want)
		}
	}
	if interrupted == 0 || interrupted == statements {
		t.Errorf("%d of %d were interrupted: nothing was proven", interrupted, statements)
	}
}
