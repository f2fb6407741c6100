package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/slowlog"
)

// eventually waits for a condition, with patience for a busy machine.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// endless gives the same statements again and again until it is closed.
type endless struct {
	texts []string
	n     int
	rate  time.Duration // between entries
	stop  chan struct{}
}

func (s *endless) Next(e *slowlog.Entry) error {
	select {
	case <-s.stop:
		return errEOF
	case <-time.After(s.rate):
	}
	*e = slowlog.Entry{Offset: int64(s.n), End: int64(s.n + 1), Kind: slowlog.Query, Text: []byte(s.texts[s.n%len(s.texts)]), Schema: []byte("pair"), SchemaKnown: true,
		ThreadID: uint64(s.n % 8), HasThreadID: true}
	s.n++
	return nil
}

func (s *endless) Place() Place { return Place{Offset: int64(s.n)} }

func (s *endless) Close() error {
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	return nil
}

var pairSchema = []string{"DROP DATABASE IF EXISTS pair", "CREATE DATABASE pair", "USE pair", "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=InnoDB",
	"INSERT INTO t SELECT seq, seq % 100 FROM seq_1_to_1000"}

// A primary writes its slow log of everything; the standby replays it, read-only, with an account that can only read.
func TestAPrimarysLogIsReplayed(t *testing.T) {
	primary := mariadb(t)
	db := open(t, primary, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	log := filepath.Join(t.TempDir(), "slow.log")
	exec(t, db, "SET GLOBAL slow_query_log_file = '"+log+"'", "SET GLOBAL log_output = 'FILE'", "SET GLOBAL slow_query_log = 1", "SET GLOBAL log_slow_verbosity = 'full'",
		"SET GLOBAL long_query_time = 0", "CREATE OR REPLACE USER reader@localhost", "GRANT SELECT, PROCESS ON *.* TO reader@localhost")
	work := open(t, primary, "pair") // a new session has the new long_query_time
	work.SetMaxOpenConns(1)
	exec(t, work, "SELECT * FROM t WHERE a = 5", "SELECT COUNT(*) FROM t WHERE b = 7", "UPDATE t SET b = b + 1 WHERE a = 9", "INSERT INTO t VALUES (5000, 3)", "DELETE FROM t WHERE a = 5000",
		"SELECT * FROM t WHERE a = 6 FOR UPDATE", "SET NAMES latin1", "SELECT 'gr\xfc\xdfe'")
	logged(t, work)
	exec(t, db, "SET GLOBAL slow_query_log = 0", "SET GLOBAL long_query_time = 10", "SET GLOBAL read_only = 1")
	defer exec(t, db, "SET GLOBAL read_only = 0")
	var before, after int64
	read := func(into *int64) {
		var name string
		if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Handler_read_key'").Scan(&name, into); err != nil {
			t.Fatal(err)
		}
	}
	read(&before)
	f, err := OpenLog(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, primary)
	c.Target.DSN = "reader@unix(" + primary.Socket + ")/"
	c.Target.MayWrite, c.Target.AccountWrite = false, false
	totals := play(t, c, NewLogSource(f, Place{}, false))
	t.Log(totals)
	read(&after)
	if totals.Sum(Rewritten) != 3 || totals.Sum(Failed) != 0 || totals.Sum(Run) < 4 {
		t.Errorf("want 3 rewritten, none failed and the reads run:\n%s", totals)
	}
	if after <= before {
		t.Errorf("no rows were read on the target: %d, %d", before, after)
	}
}

// A target that could be the wrong one is refused, each time with its reason.
func TestRefusals(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	exec(t, db, "CREATE OR REPLACE USER reader@localhost", "GRANT SELECT ON *.* TO reader@localhost", "CREATE OR REPLACE USER writer@localhost", "GRANT SELECT, INSERT (a) ON pair.t TO writer@localhost",
		"SET GLOBAL read_only = 1")
	defer exec(t, db, "SET GLOBAL read_only = 0")
	ctx := context.Background()
	try := func(user string, source string) string {
		c := config(t, s).Target
		c.DSN, c.Source, c.MayWrite, c.AccountWrite = user+"@unix("+s.Socket+")/", source, false, false
		tg, err := openTarget(ctx, c)
		if err == nil {
			tg.close()
			return ""
		}
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return refused.Why
	}
	if why := try("reader", ""); why != "" {
		t.Errorf("a standby with a reading account: %s", why)
	}
	if why := try("root", ""); !strings.Contains(why, "can change data: ALL PRIVILEGES") {
		t.Errorf("an account with all privileges: %q", why)
	}
	if why := try("writer", ""); !strings.Contains(why, "can change data: INSERT") {
		t.Errorf("an account that inserts: %q", why)
	}
	if why := try("reader", s.DSN("")); !strings.Contains(why, "the source itself") {
		t.Errorf("the source: %q", why)
	}
	exec(t, db, "SET GLOBAL read_only = 0")
	if why := try("reader", ""); !strings.Contains(why, "not read_only") {
		t.Errorf("a writable server: %q", why)
	}
}

// The standby is promoted: nothing is sent any more. It is demoted: it goes on.
func TestPromotionStopsIt(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	exec(t, db, "SET GLOBAL read_only = 1")
	defer exec(t, db, "SET GLOBAL read_only = 0")
	c := config(t, s)
	c.Policy, c.QueueAge, c.Target.MayWrite = PolicyNovelty, DefaultQueueAge, false
	p, err := New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	src := &endless{texts: []string{"SELECT * FROM t WHERE a = 1", "SELECT COUNT(*) FROM t", "UPDATE t SET b = 1 WHERE a = 3"}, rate: time.Millisecond, stop: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background(), src) }()
	eventually(t, "statements are sent", func() bool { return p.sent.Load() > 10 })
	exec(t, db, "SET GLOBAL read_only = 0")
	eventually(t, "it stops at the promotion", func() bool { return p.Accounts.Totals().By["shed"][reasonPromoted] > 0 })
	eventually(t, "what was under way ends", func() bool { return p.queue.status(time.Now()).Inflight == 0 })
	sent := p.sent.Load()
	time.Sleep(300 * time.Millisecond)
	if now := p.sent.Load(); now != sent {
		t.Errorf("%d statements after it had stopped", now-sent)
	}
	exec(t, db, "SET GLOBAL read_only = 1")
	eventually(t, "it goes on after the demotion", func() bool { return p.sent.Load() > sent+10 })
	src.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// The target stands still: memory stays where it is, the accounts are exact, and what comes after it wakes up is run.
func TestAStalledTarget(t *testing.T) {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if testing.Short() {
		t.Skip("starts a MariaDB")
	}
	s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(dir, "m"), Pool: 32 << 20, LogSize: 16 << 20})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	c := config(t, s)
	c.Policy, c.QueueAge, c.QueueBytes = PolicyNovelty, 2*time.Second, 256<<10
	p, err := New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	src := &endless{rate: 50 * time.Microsecond, stop: make(chan struct{})}
	for i := range 500 {
		src.texts = append(src.texts, fmt.Sprintf("SELECT * FROM t WHERE a = %d AND b IN (%s)", i, strings.Repeat("1,", i%50)+"2"))
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background(), src) }()
	eventually(t, "statements are sent", func() bool { return p.sent.Load() > 100 })
	syscall.Kill(s.Pid(), syscall.SIGSTOP)
	eventually(t, "entries are shed", func() bool { tot := p.Accounts.Totals(); return tot.Sum(Shed) > 1000 })
	if q := p.queue.status(time.Now()); q.Bytes > c.QueueBytes {
		t.Errorf("%d bytes wait, the limit is %d", q.Bytes, c.QueueBytes)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 256<<20 {
		t.Errorf("%d bytes of heap", m.HeapInuse)
	}
	syscall.Kill(s.Pid(), syscall.SIGCONT)
	sent := p.sent.Load()
	eventually(t, "it goes on", func() bool { return p.sent.Load() > sent+100 })
	src.Close()
	if err := <-ended; err != nil { // Run proves the accounts
		t.Fatal(err)
	}
	t.Log(p.Accounts.Totals())
}

// A replay that is stopped goes on where it was: between them every entry is accounted for, and none is lost.
func TestResume(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	name := filepath.Join(t.TempDir(), "slow.log")
	var log []byte
	const n = 3000
	for i := range n {
		log = slowlog.AppendEntry(log, &slowlog.Entry{Kind: slowlog.Query, Text: fmt.Appendf(nil, "SELECT %d FROM t LIMIT 1", i), Schema: []byte("pair"), SchemaKnown: true,
			ThreadID: uint64(i % 5), HasThreadID: true, Ended: time.Unix(1_700_000_000+int64(i), 0), Started: time.Unix(1_700_000_000+int64(i), 0)}, false)
	}
	if err := os.WriteFile(name, log, 0o644); err != nil {
		t.Fatal(err)
	}
	check := filepath.Join(t.TempDir(), "checkpoint")
	seen := int64(0)
	for round := 0; ; round++ {
		if round > 50 {
			t.Fatal("it does not come to an end")
		}
		at, err := LoadCheckpoint(check, name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenLog(name, at.Offset)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(context.Background(), config(t, s))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx, NewLogSource(f, at, at.Offset > 0)) }()
		eventually(t, "some entries", func() bool { tot := p.Accounts.Totals(); return tot.Sum(Run) >= n/10 || len(ended) > 0 })
		cancel()
		err = <-ended
		if err := SaveCheckpoint(check, name, p.Place()); err != nil {
			t.Fatal(err)
		}
		tot := p.Accounts.Totals()
		p.Close()
		seen += tot.Received - tot.By["shed"]["stopped"]
		if err == nil || p.Place().Offset == int64(len(log)) {
			break
		}
	}
	if seen < n {
		t.Errorf("%d entries ended well, want at least %d", seen, n)
	}
	if _, err := LoadCheckpoint(check, "another"); err == nil {
		t.Error("the checkpoint of one input is taken for another")
	}
}

// What a target may answer does not stop a replay, and is told by its number.
func TestErrorsOfTheTarget(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	c := config(t, s)
	c.Target.Limits.Time = time.Second
	c.Target.Limits.Rows = 100
	locked := open(t, s, "pair")
	locked.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE held (a INT PRIMARY KEY)")
	exec(t, locked, "LOCK TABLES held WRITE")
	totals := play(t, c, entries("pair",
		"SELECT * FROM gone", "SELECT c FROM t", "SELECT 1 +", "UPDATE gone SET a = 1 WHERE a = 2",
		"SELECT COUNT(*) FROM t x, t y, t z, t w WHERE x.b + y.b + z.b + w.b = 1", // time
		"SELECT * FROM t",    // rows
		"SELECT * FROM held", // metadata lock
		"SELECT * FROM t WHERE a = 1"))
	t.Log(totals)
	failed := totals.By["failed"]
	if failed["error 1146"] != 1 || failed["error 1054"] != 1 || failed["error 1064"] != 1 || failed["error 1969"] < 1 {
		t.Errorf("failed: %v", failed)
	}
	if totals.By["skipped"]["no such table"] != 1 || totals.Sum(Run) != 2 {
		t.Errorf("%s", totals)
	}
	exec(t, locked, "UNLOCK TABLES")
}

// Connections are killed and the server is full: statements are tried again.
func TestLostConnections(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	p, err := New(context.Background(), config(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	src := &endless{texts: []string{"SELECT * FROM t WHERE a = 1"}, rate: 100 * time.Microsecond, stop: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background(), src) }()
	for range 5 {
		sent := p.sent.Load()
		eventually(t, "statements are sent", func() bool { return p.sent.Load() > sent+50 })
		killOthers(t, db)
	}
	src.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	tot := p.Accounts.Totals()
	t.Log(tot)
	if tot.Sum(Failed) > tot.Sum(Run)/10 {
		t.Errorf("more failed than connections were killed:\n%s", tot)
	}
}

// killOthers ends all connections but the asking one.
func killOthers(t testing.TB, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() AND command IN ('Sleep', 'Query')")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	rows.Close()
	for _, id := range ids {
		db.Exec(fmt.Sprintf("KILL %d", id)) // it may have gone by itself
	}
}
