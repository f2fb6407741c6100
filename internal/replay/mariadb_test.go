package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/slowlog"
)

// server is one MariaDB for the whole package, with a binary log, writable.
var server struct {
	once sync.Once
	s    *peer.Server
	err  error
	dir  string
}

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		fmt.Fprintln(os.Stderr, what+" of a test:", child(what, os.Args[1:]))
		os.Exit(1)
	}
	code := m.Run()
	if server.s != nil {
		server.s.Kill()
		os.RemoveAll(server.dir)
	}
	os.Exit(code)
}

// mariadb starts it, or skips the test where there is none.
func mariadb(t testing.TB) *peer.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a MariaDB")
	}
	server.once.Do(func() {
		if server.dir, server.err = os.MkdirTemp("", "replay"); server.err != nil {
			return
		}
		s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(server.dir, "m"), Pool: 32 << 20, LogSize: 16 << 20,
			Extra: []string{"--log-bin=binlog", "--log-bin-trust-function-creators=1", "--server-id=1", "--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0"}})
		if err == nil {
			err = s.Start(context.Background())
			server.s = s
		}
		server.err = err
	})
	if errors.Is(server.err, peer.ErrMissing) {
		t.Skip(server.err)
	}
	if server.err != nil {
		t.Fatal(server.err)
	}
	return server.s
}

func open(t testing.TB, s *peer.Server, schema string) *sql.DB {
	t.Helper()
	db, err := s.Open(schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.200s: %v", s, err)
		}
	}
}

// logged returns when what the session of a pool with one connection sent is in the slow log: a server answers a statement first,
// and logs it before it reads the next one.
func logged(t testing.TB, work *sql.DB) {
	t.Helper()
	exec(t, work, "SET long_query_time = 10") // itself not slow
}

// listed is a source of entries in memory.
type listed struct {
	entries []slowlog.Entry
	i       int
}

func (l *listed) Next(e *slowlog.Entry) error {
	if l.i >= len(l.entries) {
		return errEOF
	}
	*e = l.entries[l.i]
	l.i++
	return nil
}

func (l *listed) Place() Place { return Place{Offset: int64(l.i)} }
func (l *listed) Close() error { return nil }

// entries makes queries of one session.
func entries(schema string, texts ...string) *listed {
	l := &listed{}
	for i, s := range texts {
		l.entries = append(l.entries, slowlog.Entry{Offset: int64(i), End: int64(i + 1), Kind: slowlog.Query, Text: []byte(s),
			Schema: []byte(schema), SchemaKnown: true, ThreadID: 7, HasThreadID: true})
	}
	return l
}

// config replays to a server with all doors open: what is tested are the other layers.
func config(t testing.TB, s *peer.Server) Config {
	return Config{
		Target:      TargetConfig{DSN: s.DSN(""), Limits: Limits{Time: 5 * time.Second, Rows: 1 << 20, Bytes: 1 << 30}, Writes: WritesRewrite, MayWrite: true, AccountWrite: true},
		Connections: 4, QueueBytes: 64 << 20, Policy: PolicyBlock, Log: t.Logf,
	}
}

// play runs a source to its end and returns the accounts.
func play(t testing.TB, c Config, src Source) Totals {
	t.Helper()
	p, err := New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	return p.Accounts.Totals()
}

// writeCounters are all counters of a server that a change would move, the position of its binary log, and the checksums of
// the tables.
func writeCounters(t testing.TB, db *sql.DB, tables ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	rows, err := db.Query("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var n, v string
		if err := rows.Scan(&n, &v); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"insert", "update", "delete", "replace", "create", "drop", "alter", "truncate", "load", "call", "grant", "kill",
			"flush", "rename", "execute", "prepare", "xa", "lock", "do", "set_password", "shutdown", "reset", "purge"} {
			if strings.HasPrefix(strings.ToLower(n), "com_"+verb) {
				out[n] = v
			}
		}
	}
	rows.Close()
	for _, h := range []string{"Handler_write", "Handler_update", "Handler_delete"} {
		var n, v string
		if err := db.QueryRow("SHOW GLOBAL STATUS LIKE '"+h+"'").Scan(&n, &v); err != nil {
			t.Fatal(err)
		}
		if h != "Handler_write" { // temporary tables count there
			out[n] = v
		}
	}
	var file, pos string
	var rest [2]sql.NullString
	if err := db.QueryRow("SHOW MASTER STATUS").Scan(&file, &pos, &rest[0], &rest[1]); err != nil {
		t.Fatal(err)
	}
	out["binlog"] = file + ":" + pos
	for _, table := range tables {
		var name, sum sql.NullString
		if err := db.QueryRow("CHECKSUM TABLE "+table).Scan(&name, &sum); err != nil {
			t.Fatal(err)
		}
		out[table] = sum.String
	}
	return out
}

func differences(a, b map[string]string) (list []string) {
	for k := range b {
		if a[k] != b[k] {
			list = append(list, fmt.Sprintf("%s: %s, was %s", k, b[k], a[k]))
		}
	}
	return list
}
