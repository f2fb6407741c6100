package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
)

// Two servers have copies of the same data; one is loaded, the other replays its log: then it holds what the first one holds.
func TestReplayCompareOfAPair(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	const rows = 30_000
	t.Setenv(asCommand, "1")
	dir, err := os.MkdirTemp("", "pair") // short, for the path of the sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "slow.log")
	// Each life of a server begins with nothing in memory.
	start := func(name string, extra ...string) (*peer.Server, *sql.DB) {
		t.Helper()
		memory, err := os.MkdirTemp(dir, "memory")
		if err != nil {
			t.Fatal(err)
		}
		s, err := peer.Hearth(os.Args[0], memory)(peer.Config{Dir: filepath.Join(dir, name), Pool: 16 << 20, LogSize: 256 << 20, Extra: append(extra,
			"--prewarm=off", "--heat-dump-interval=-1s", "--heat-dump-at-shutdown=off", "--flush", "--slow-log-file="+log, "--long-query-time=0s")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Kill() })
		db, err := s.Open("")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1) // when it has the next answer, the entry of the statement before is in the log
		return s, db
	}
	exec := func(db *sql.DB, q string) {
		t.Helper()
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%.100s: %v", q, err)
		}
	}
	command := func(args ...string) []byte {
		t.Helper()
		out, err := hearthCommand(nil, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", strings.Join(args, " "), err)
		}
		return out
	}
	pool := func(s *peer.Server) string {
		t.Helper()
		to := filepath.Join(dir, filepath.Base(s.Config.Dir)+".pool")
		command("warm", "dump", "--data", s.Data(), "--file", to)
		return to
	}

	s, db := start("primary")
	exec(db, "CREATE DATABASE d")
	exec(db, "CREATE TABLE d.t (id INT PRIMARY KEY, a INT NOT NULL, pad VARCHAR(300) NOT NULL, KEY a (a))")
	for i := 0; i < rows; i += 1000 {
		values := make([]string, 1000)
		for j := range values {
			values[j] = fmt.Sprintf("(%d, %d, REPEAT('x', 300))", 2*(i+j), (i+j)*7919%rows)
		}
		exec(db, "INSERT INTO d.t VALUES "+strings.Join(values, ","))
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "standby", "data"), os.DirFS(s.Data())); err != nil {
		t.Fatal(err)
	}

	primary, db := start("primary")
	exec(db, "SET GLOBAL slow_query_log = 1")
	r := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		id := 2 * r.IntN(rows)
		switch r.IntN(4) {
		case 0:
			exec(db, fmt.Sprintf("UPDATE d.t SET a = a + 1 WHERE id = %d", id))
		case 1:
			exec(db, fmt.Sprintf("SELECT SUM(id) FROM d.t WHERE a BETWEEN %d AND %d", id/2, id/2+5))
		default:
			exec(db, fmt.Sprintf("SELECT pad FROM d.t WHERE id = %d", id))
		}
	}
	exec(db, "SET GLOBAL slow_query_log = 0")
	exec(db, "FLUSH SLOW LOGS")
	list := pool(primary)

	standby, _ := start("standby", "--read-only")
	before := pool(standby)
	command("replay", "--from="+log, "--to="+standby.DSN(""), "--writes=fake", "--queue-policy=block", "--allow-writing-account")
	if err := os.Rename(before, before+".cold"); err != nil {
		t.Fatal(err)
	}
	compare := func(other string) (c replay.Comparison) {
		t.Helper()
		if err := json.Unmarshal(command("replay", "compare", list, other, "--json"), &c); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d pages", filepath.Base(other), c.Both, c.Primary)
		return c
	}
	if c := compare(before + ".cold"); c.Share > 0.2 || c.Primary < 200 {
		t.Errorf("the standby began with %d of %d pages: this shows nothing", c.Both, c.Primary)
	}
	if c := compare(pool(standby)); c.Share < 0.95 {
		t.Errorf("the standby holds %.1f %% of the primary's pages, want 95: %+v", 100*c.Share, c)
	}
	if text := command("replay", "compare", list, before+".cold"); !strings.Contains(string(text), "of the primary's") {
		t.Errorf("got %q", text)
	}
}
