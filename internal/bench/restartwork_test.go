package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// An acknowledged commit that the server does not have any more is missed, one that was not acknowledged is not.
func TestVerifyMissesLostCommits(t *testing.T) {
	cfg := ServerRestartConfig{Bytes: 1 << 20, Pool: 64 << 20, LogSize: 256 << 20, Clients: 2, Seed: 1}
	_, s := loadedHearth(t, cfg)
	db, err := s.Open(serverDatabase)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, workload := range []string{WorkloadUpdate, WorkloadReadWrite} {
		t.Run(workload, func(t *testing.T) {
			w := newWork(cfg, ServerCase{Workload: workload, Spread: SpreadUniform})
			if err := w.reset(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			for number, times := range []int{5, 3} {
				request := w.client(number, db)
				for range times {
					if err := request(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				if err := request(ended); err == nil { // not acknowledged
					t.Error("a request that nobody waits for was answered")
				}
			}
			verdict, err := w.verify(t.Context(), db)
			if err != nil || !strings.HasPrefix(verdict, "8 commits acknowledged, 0 lost") {
				t.Fatalf("got %q, %v, want 8 commits and none lost", verdict, err)
			}
			if _, err := db.Exec("UPDATE oracle SET n = n - 2 WHERE client = 0"); err != nil {
				t.Fatal(err)
			}
			var lost *LostError
			if _, err := w.verify(t.Context(), db); !errors.As(err, &lost) || lost.Commits != 2 || !strings.Contains(err.Error(), "client 0") {
				t.Errorf("got %v, want two lost commits of client 0", err)
			}
			if _, err := db.Exec("DELETE FROM oracle WHERE client = 1"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.verify(t.Context(), db); err == nil || !strings.Contains(err.Error(), "client 1") {
				t.Errorf("got %v, want that client 1 has no row", err)
			}
			if _, err := db.Exec("INSERT INTO oracle VALUES (1, 0)"); err != nil {
				t.Fatal(err)
			}
		})
	}
}
