package server

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// TestKillInTheEnd kills statements all the time, also while they commit: one that is told to be interrupted has done nothing.
func TestKillInTheEnd(t *testing.T) {
	// With one thread at a time for Go nobody is killed in the middle; the system takes turns with several also on one processor.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
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
	// At least so many, and as many as it takes: on a fast machine few are killed in the middle.
	const statements, most = 600, 30_000
	interrupted, n := 0, 0
	for ; n < statements || (interrupted == 0 || interrupted == n) && n < most; n++ {
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
	if interrupted == 0 || interrupted == n {
		t.Errorf("%d of %d were interrupted: nothing was proven", interrupted, n)
	}
	t.Logf("%d of %d were interrupted", interrupted, n)
}
