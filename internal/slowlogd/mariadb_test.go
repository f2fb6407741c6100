package slowlogd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/slowlog"
	"github.com/hearthdb/hearth/internal/slowlogd"
)

// TestMariaDB streams the slow log of a MariaDB that logs every statement and is rotated by rename and FLUSH SLOW LOGS under load.
// Each statement arrives once, in the schema it ran in.
func TestMariaDB(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slow.log")
	s, err := peer.MariaDB(peer.Config{Dir: dir, Pool: 32 << 20, LogSize: 16 << 20,
		Extra: []string{"--slow-query-log=1", "--slow-query-log-file=" + path, "--long-query-time=0", "--log-slow-verbosity=full"}})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	db, err := s.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const clients, statements, rotations = 3, 300, 20
	for i := range clients {
		if _, err := db.Exec(fmt.Sprintf("CREATE DATABASE `schema %d`", i)); err != nil {
			t.Fatal(err)
		}
	}
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	resp := d.get(ctx, "")

	var load sync.WaitGroup
	for i := range clients {
		load.Go(func() {
			c, err := s.Open(fmt.Sprintf("schema %d", i))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetMaxOpenConns(1)
			for n := range statements {
				// Text that imitates a log, and more than a page of it now and then.
				text := fmt.Sprintf("SELECT 'client %d statement %d;\n# Time: 240601 12:00:00\n# User@Host: x[x] @ y []\n%s'", i, n, strings.Repeat("x", n%50*200))
				if _, err := c.Exec(text); err != nil {
					t.Error(err)
				}
			}
			// The server answers a statement before it logs it, but it logs it before it takes the next one.
			if _, err := c.Exec("DO 0"); err != nil {
				t.Error(err)
			}
		})
	}
	load.Go(func() {
		for i := range rotations {
			if err := os.Rename(path, fmt.Sprintf("%s-%08d", path, i)); err != nil {
				t.Error(err)
			}
			if _, err := db.Exec("FLUSH SLOW LOGS"); err != nil {
				t.Error(err)
			}
		}
	})
	load.Wait()
	if _, err := db.Exec("SELECT 'this is the last'"); err != nil {
		t.Fatal(err)
	}

	next := [clients]int{}
	flushes := 0
	r := slowlog.NewReader(resp.Body, slowlog.Options{})
	var e slowlog.Entry
	for {
		if err := r.Next(&e); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(e.Text), "SELECT 'this is the last'") {
			break
		}
		if string(e.Text) == "FLUSH SLOW LOGS" {
			flushes++
		}
		var i, n int
		if k, _ := fmt.Sscanf(string(e.Text), "SELECT 'client %d statement %d;", &i, &n); k != 2 {
			continue
		}
		if n != next[i] || string(e.Schema) != fmt.Sprintf("schema %d", i) || !strings.HasSuffix(string(e.Text), strings.Repeat("x", n%50*200)+"'") {
			t.Fatalf("client %d: got statement %d in %q with %d bytes, want %d", i, n, e.Schema, len(e.Text), next[i])
		}
		next[i]++
	}
	for i, n := range next {
		if n != statements {
			t.Errorf("client %d: got %d statements, want %d", i, n, statements)
		}
	}
	if st := d.status(); st.Rotations != rotations || flushes != rotations {
		t.Errorf("%d rotations seen, %d in the log, want %d", st.Rotations, flushes, rotations)
	}
}
