package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
)

// door is an address before a server: it can be shut with an error of the protocol, cut all that passes, or lead to another server.
type door struct {
	l net.Listener

	mu   sync.Mutex
	to   string // socket of the server
	errs uint16 // what who comes is told; 0: nothing
	open map[net.Conn]bool
}

func newDoor(t testing.TB, s *peer.Server) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{l: l, to: s.Socket, open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(c)
		}
	}()
	t.Cleanup(func() { l.Close(); d.set(0, s) })
	return d
}

// set changes where it leads and what it says, and cuts what passes.
func (d *door) set(errno uint16, s *peer.Server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errs, d.to = errno, s.Socket
	for c := range d.open {
		c.Close()
	}
}

func (d *door) pass(c net.Conn) {
	defer c.Close()
	d.mu.Lock()
	to, errno := d.to, d.errs
	d.open[c] = true
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.open, c)
		d.mu.Unlock()
	}()
	if errno != 0 {
		body := append(binary.LittleEndian.AppendUint16([]byte{0xff}, errno), "not now"...)
		c.Write(append([]byte{byte(len(body)), 0, 0, 0}, body...))
		return
	}
	s, err := net.Dial("unix", to)
	if err != nil {
		return
	}
	defer s.Close()
	go func() {
		defer s.Close()
		defer c.Close()
		io.Copy(s, c)
	}()
	io.Copy(c, s)
}

func (d *door) dsn() string { return "root@tcp(" + d.l.Addr().String() + ")/" }

// running is a player with an endless source.
type running struct {
	*Player
	src   *endless
	ended chan error
}

func run(t testing.TB, c Config, texts ...string) *running {
	t.Helper()
	p, err := New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{p, &endless{texts: texts, rate: 200 * time.Microsecond, stop: make(chan struct{})}, make(chan error, 1)}
	go func() { r.ended <- p.Run(context.Background(), r.src) }()
	return r
}

// goesOn waits for statements.
func (r *running) goesOn(t testing.TB, when string) {
	t.Helper()
	sent := r.sent.Load()
	eventually(t, "statements are sent "+when, func() bool { return r.sent.Load() > sent+50 })
}

// end ends the source and returns the accounts, which Run proves.
func (r *running) end(t testing.TB) Totals {
	t.Helper()
	r.src.Close()
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	r.Close()
	return r.Accounts.Totals()
}

// patient keeps what it cannot send.
func patient(t testing.TB, s *peer.Server) Config {
	c := config(t, s)
	c.Policy, c.QueueAge = PolicyNovelty, 5*time.Minute
	return c
}

// The target has no room for all connections: those that there are do the work, and nothing fails.
func TestATargetWithoutRoom(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	exec(t, db, "CREATE OR REPLACE USER reader@localhost", "GRANT SELECT ON *.* TO reader@localhost",
		"CREATE OR REPLACE USER few@localhost WITH MAX_USER_CONNECTIONS 6", "GRANT SELECT ON *.* TO few@localhost")
	for _, c := range []struct {
		errno, user string
		before      []string
	}{
		{"1040", "reader", []string{"SET GLOBAL max_connections = 10"}},
		{"1226", "few", nil},
	} {
		t.Run(c.errno, func(t *testing.T) {
			exec(t, db, c.before...)
			defer exec(t, db, "SET GLOBAL max_connections = 1000")
			said := make(chan string, 100)
			cfg := patient(t, s)
			cfg.Target.DSN, cfg.Connections, cfg.Pipeline = c.user+"@unix("+s.Socket+")/", 32, 1
			cfg.Log = func(f string, a ...any) { said <- fmt.Sprintf(f, a...) }
			r := run(t, cfg, "SELECT * FROM t WHERE a = 1", "SELECT COUNT(*) FROM t WHERE b < 50")
			r.queue.mu.Lock()
			r.queue.limit = cfg.Connections // at once, not after a while of backlog
			r.queue.mu.Unlock()
			eventually(t, "it is said that there is no connection", func() bool {
				select {
				case line := <-said:
					return strings.Contains(line, "cannot connect") && strings.Contains(line, c.errno)
				default:
					return false
				}
			})
			r.goesOn(t, "by the connections that there are")
			if totals := r.end(t); totals.Sum(Failed) > 0 {
				t.Errorf("want none failed: %s", totals)
			}
		})
	}
}

// The target lets nobody in (1129), or is away (2003, 2013): what waits is kept, and sent when it is back.
func TestATargetThatLetsNobodyIn(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	d := newDoor(t, s)
	c := patient(t, s)
	c.Target.DSN = d.dsn()
	r := run(t, c, "SELECT * FROM t WHERE a = 1")
	for _, errno := range []uint16{1129, 1040, 0} {
		r.goesOn(t, "before")
		d.set(errno, s)
		if errno != 0 {
			eventually(t, "it is noticed", func() bool { return !r.watch.open(time.Now()) })
			d.set(0, s)
		}
		r.goesOn(t, "after")
	}
	if totals := r.end(t); totals.Sum(Failed) > 0 {
		t.Errorf("want none failed: %s", totals)
	}
}

// A statement is killed by somebody (1317), has no room for its temporary table (1114), waits for a metadata lock (1969 or 1205), its
// table is dropped (1146): it fails by that number, and the next one runs.
func TestStatementsThatTheTargetEnds(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	const long = "SELECT COUNT(*) FROM t x, t y, t z WHERE x.b + y.b + z.b = 1"
	const large = "SELECT x.b, y.a, COUNT(*) FROM t x, t y WHERE x.a < 100 GROUP BY x.b, y.a"
	exec(t, db, "CREATE TABLE gone (a INT PRIMARY KEY)", "SET GLOBAL tmp_memory_table_size = 1024, GLOBAL tmp_disk_table_size = 65536")
	defer exec(t, db, "SET GLOBAL tmp_memory_table_size = 16777216, GLOBAL tmp_disk_table_size = 18446744073709551615")
	c := config(t, s)
	c.Target.Limits.Time = time.Minute
	ended := make(chan Totals, 1)
	p, err := New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	go func() {
		if err := p.Run(context.Background(), entries("pair", "SELECT * FROM gone", large, long, "SELECT * FROM t WHERE a = 1", "SELECT * FROM t WHERE a = 2")); err != nil {
			t.Error(err)
		}
		ended <- p.Accounts.Totals()
	}()
	var id int64
	eventually(t, "the long one runs", func() bool {
		return db.QueryRow("SELECT id FROM information_schema.PROCESSLIST WHERE info = ?", long).Scan(&id) == nil
	})
	exec(t, db, fmt.Sprintf("KILL QUERY %d", id))
	totals := <-ended
	failed := totals.By["failed"]
	if failed["error 1317"] != 1 || failed["error 1114"] != 1 || totals.Sum(Run) != 3 {
		t.Errorf("want 3 run, and failed by 1317 and 1114: %s", totals)
	}
	exec(t, db, "DROP TABLE gone")
	if totals := play(t, c, entries("pair", "SELECT * FROM gone", "SELECT * FROM t WHERE a = 1")); totals.By["failed"]["error 1146"] != 1 || totals.Sum(Run) != 1 {
		t.Errorf("want 1 run, 1 failed by 1146: %s", totals)
	}
}

// A change that came through all layers of ours would be refused by the standby (1290), and cost nothing but itself.
func TestAStandbyRefusesChanges(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	exec(t, db, "CREATE OR REPLACE USER writer@localhost", "GRANT SELECT, INSERT ON *.* TO writer@localhost", "SET GLOBAL read_only = 1")
	defer exec(t, db, "SET GLOBAL read_only = 0")
	c := config(t, s)
	c.Target.DSN, c.Target.SessionInit = "writer@unix("+s.Socket+")/pair", ""
	tg, err := openTarget(context.Background(), c.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.close()
	cn, err := tg.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer cn.c.Close()
	if err := cn.exec(context.Background(), "SET SESSION TRANSACTION READ WRITE"); err != nil { // the layer before this one
		t.Fatal(err)
	}
	texts := []string{"SELECT * FROM t WHERE a = 1", "INSERT INTO t VALUES (7777, 1)", "SELECT * FROM t WHERE a = 2"}
	if err := cn.send(texts); err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		rows, _, err := cn.answer(c.Target.Limits)
		switch {
		case i == 1 && (err == nil || lost(err) || reasonOf(err) != "error 1290"):
			t.Errorf("the change: got %v, want error 1290", err)
		case i != 1 && (err != nil || rows != 1):
			t.Errorf("read %d: %d rows, %v", i, rows, err)
		}
	}
}

// answered is a statement and what is expected of its answer.
type answered struct {
	text  string
	rows  int64
	least int64 // bytes
	errno string
}

func (w answered) check(t *testing.T, rows, bytes int64, err error) {
	t.Helper()
	errno := ""
	if err != nil {
		errno = reasonOf(err)
	}
	if rows != w.rows || bytes < w.least || errno != w.errno {
		t.Errorf("%.60s: %d rows, %d bytes, %q; want %d, at least %d, %q", w.text, rows, bytes, errno, w.rows, w.least, w.errno)
	}
}

// allAnswers that a server can give to a read.
func allAnswers() []answered {
	var wide strings.Builder
	for i := range 300 {
		fmt.Fprintf(&wide, ", %d", i)
	}
	return []answered{
		{"SELECT 1", 1, 1, ""}, {"SELECT 1 FROM DUAL WHERE 0", 0, 0, ""}, {"SELECT seq FROM mysql.nowhere", 0, 0, "error 1146"},
		{"SELECT seq FROM seq_1_to_5000", 5000, 5000, ""}, {"SELECT 0" + wide.String(), 1, 300, ""}, {"SELECT NULL, ''", 1, 2, ""},
		{"SELECT REPEAT('x', 100000)", 1, 100000, ""}, {"SELEC", 0, 0, "error 1064"}, {"SELECT REPEAT('y', 250), 2", 1, 250, ""},
		{"SELECT (SELECT seq FROM seq_1_to_2)", 0, 0, "error 1242"}, {"DO 1", 0, 0, ""}, {"SELECT 3", 1, 1, ""},
	}
}

// All answers that a server can give to a read, several on their way: rows are counted, errors are told, nothing gets out of step.
func TestAnswersOnTheWire(t *testing.T) {
	s := mariadb(t)
	c := config(t, s)
	tg, err := openTarget(context.Background(), c.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.close()
	cn, err := tg.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer cn.c.Close()
	if cn.wire == nil {
		t.Fatal("a plain connection has no wire")
	}
	want := allAnswers()
	if err := cn.exec(context.Background(), "USE mysql"); err != nil { // sequences need a schema
		t.Fatal(err)
	}
	for range 3 {
		var texts []string
		for _, w := range want {
			texts = append(texts, w.text)
		}
		if err := cn.send(texts); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			rows, bytes, err := cn.answer(c.Target.Limits)
			w.check(t, rows, bytes, err)
		}
		if got, err := cn.one(context.Background(), "SELECT 'driver'"); err != nil || got[0] != "driver" { // it is in step, too
			t.Fatalf("%v, %v", got, err)
		}
	}
	// A row and a statement longer than a packet of the protocol.
	exec(t, open(t, s, ""), "SET GLOBAL max_allowed_packet = 67108864")
	defer exec(t, open(t, s, ""), "SET GLOBAL max_allowed_packet = 16777216")
	big, err := tg.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer big.c.Close()
	const n = maxPacket + 1000
	for _, text := range []string{fmt.Sprintf("SELECT REPEAT('x', %d), 1", n), "SELECT '" + strings.Repeat("x", n) + "'", "SELECT '" + strings.Repeat("x", maxPacket-len("SELECT ''")-1) + "'"} {
		if err := big.send([]string{text, "SELECT 1"}); err != nil {
			t.Fatal(err)
		}
		if rows, bytes, err := big.answer(c.Target.Limits); rows != 1 || bytes < maxPacket-100 || err != nil {
			t.Errorf("%d rows, %d bytes, %v", rows, bytes, err)
		}
		if rows, _, err := big.answer(c.Target.Limits); rows != 1 || err != nil {
			t.Errorf("the one behind it: %d rows, %v", rows, err)
		}
	}
}
