package sql_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

// What sessions see of each other is tested by the scripts in testdata/isolation. A script is statements, one a line, each of a session
// with a goroutine of its own; the comment at its head is the argument:
//
//	s1: SELECT * FROM t -> 1,10 | 2,20     rows, in order; "none" when there are none
//	s1: UPDATE t SET n = 3 WHERE id = 1    without "->" a statement must succeed, whatever it returns
//	s1: SELECT … FOR UPDATE -> waits       the statement must not end now …
//	s1 done -> 1,10                        … but must have ended here; with what, is told by "->"
//	s1: … -> error 1205                    an error of that number
//	s1 kill                                ends the statement that waits, as KILL QUERY does
//	s1 quit                                the client goes away
//	CREATE TABLE …                         without a session: in one of its own
//
// A line "--- why" begins anew: another database, another case. It runs the steps that the server takes around a statement: a commit
// before DDL, and UndoStatement after a failure.

const (
	// mustBlockFor is how long a statement that waits is watched. Too short can only miss a fault, never invent one.
	mustBlockFor = 30 * time.Millisecond
	// mustWaitWithin is how long it may take until it waits.
	mustWaitWithin = time.Second
	// mustEndWithin is how long any other may take.
	mustEndWithin = 30 * time.Second
)

func TestIsolation(t *testing.T) {
	names, err := filepath.Glob("testdata/isolation/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			// Not in parallel: GMS makes its status variables anew with each engine, under the feet of the sessions of others.
			for i, c := range readIsolation(t, name) {
				t.Run(fmt.Sprint(i+1), func(t *testing.T) { runIsolation(t, name, c) })
			}
		})
	}
}

// isolationStep is one line of a script.
type isolationStep struct {
	line          int
	session, text string
	want          string // empty: success
}

var sessionStep = regexp.MustCompile(`^(s\d)(?:: *| +)(.*)$`)

func readIsolation(t *testing.T, name string) (cases [][]isolationStep) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases = [][]isolationStep{nil}
	in := bufio.NewScanner(f)
	for line := 1; in.Scan(); line++ {
		text := strings.TrimSpace(in.Text())
		switch {
		case strings.HasPrefix(text, "---"):
			cases = append(cases, nil)
			continue
		case text == "" || strings.HasPrefix(text, "#"):
			continue
		}
		s := isolationStep{line: line}
		text, s.want, _ = strings.Cut(text, "->")
		s.text, s.want = strings.TrimSpace(text), strings.TrimSpace(s.want)
		if m := sessionStep.FindStringSubmatch(s.text); m != nil {
			s.session, s.text = m[1], m[2]
		}
		cases[len(cases)-1] = append(cases[len(cases)-1], s)
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return slices.DeleteFunc(cases, func(c []isolationStep) bool { return len(c) == 0 })
}

func runIsolation(t *testing.T, name string, steps []isolationStep) {
	b := openBackend(t)
	sessions := map[string]*client{}
	defer func() {
		for _, c := range sessions {
			c.close()
		}
	}()
	of := func(name string) *client {
		if sessions[name] == nil {
			sessions[name] = newClient(b, uint32(len(sessions)+1))
			sessions[name].session.SetCurrentDatabase("d")
		}
		return sessions[name]
	}
	of("").query("CREATE DATABASE d")
	for _, st := range steps {
		c := of(st.session)
		got := c.step(st.text, st.want == "waits")
		if strings.HasPrefix(got, "error") && !strings.HasPrefix(st.want, "error") ||
			st.want != "" && got != st.want && !(strings.HasPrefix(st.want, "error") && strings.HasPrefix(got, st.want+":")) ||
			st.want == "" && got == "waits" {
			t.Fatalf("%s:%d: %s: %s: got %q, want %q", name, st.line, st.session, st.text, got, st.want)
		}
	}
	for name, c := range sessions {
		if c.waiting {
			t.Errorf("%s: the script ends, and %s still waits", name, name)
		}
		c.close()
	}
	sound(t, b)
}

// openBackend opens an empty database that is gone with the test.
func openBackend(t testing.TB) *sql.Backend {
	t.Helper()
	db, err := hearth.Open(context.Background(), t.TempDir(), &hearth.Options{
		Memory: hearth.MemoryOff, Durability: hearth.DurabilityProcess, PoolSize: 16 << 20, SmallPages: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sql.Open(context.Background(), db, sql.Options{Parser: sqlparse.New()})
	if err != nil {
		db.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	return b
}

// client is a session with a goroutine, so that it can be watched waiting.
type client struct {
	backend *sql.Backend
	session *sql.Session
	do      chan string
	done    chan string
	waiting bool // a statement is under way; of the script's goroutine
	cancel  chan context.CancelFunc
}

func newClient(b *sql.Backend, id uint32) *client {
	base := gms.NewBaseSessionWithClientServer("test", gms.Client{User: "root", Address: "localhost"}, id)
	c := &client{backend: b, session: b.NewSession(base), do: make(chan string), done: make(chan string, 1), cancel: make(chan context.CancelFunc, 1)}
	go func() {
		for text := range c.do {
			ctx, cancel := context.WithCancel(context.Background())
			select {
			case <-c.cancel: // of the statement before
			default:
			}
			c.cancel <- cancel
			c.done <- c.run(ctx, text)
			cancel()
		}
		c.session.SessionEnd()
		close(c.done)
	}()
	return c
}

// step runs one line of a script. One that is to wait is watched for a while.
func (c *client) step(text string, waits bool) string {
	switch text {
	case "done":
		return c.wait(mustEndWithin)
	case "kill":
		(<-c.cancel)()
		return c.wait(mustEndWithin)
	case "quit":
		c.close()
		return "ok"
	}
	if c.waiting {
		return "BUG in the script: the session still waits"
	}
	before := c.waits()
	c.do <- text
	c.waiting = true
	if !waits {
		return c.wait(mustEndWithin)
	}
	// It is watched from when it waits: on a busy machine it may not have come so far.
	for end := time.Now().Add(mustWaitWithin); time.Now().Before(end) && c.waits() <= before && len(c.done) == 0; {
		time.Sleep(50 * time.Microsecond)
	}
	return c.wait(mustBlockFor)
}

// waits counts who waits for rows and for definitions.
func (c *client) waits() (n int) {
	waiters := map[uint64]bool{}
	for _, w := range c.backend.DB().LockWaits() {
		waiters[w.Waiter.ID] = true
	}
	for _, l := range c.backend.Dict().Locks().List() {
		if l.Waiting {
			n++
		}
	}
	return n + len(waiters)
}

func (c *client) wait(d time.Duration) string {
	if !c.waiting {
		return "BUG in the script: nothing is under way"
	}
	select {
	case got := <-c.done:
		c.waiting = false
		return got
	case <-time.After(d):
		return "waits"
	}
}

// close ends the session, also one that waits.
func (c *client) close() {
	if c.do == nil {
		return
	}
	if c.waiting {
		(<-c.cancel)()
	}
	close(c.do)
	for range c.done { // until the goroutine has ended
	}
	c.do = nil
}

// query runs a statement that must succeed now.
func (c *client) query(text string) string {
	got := c.run(context.Background(), text)
	if strings.HasPrefix(got, "error") {
		panic(text + ": " + got)
	}
	return got
}

var implicitCommit = regexp.MustCompile(`(?i)^(CREATE|DROP|ALTER|TRUNCATE|RENAME)\b`)

// run is what the server does with a statement.
func (c *client) run(ctx context.Context, text string) string {
	if err := c.session.CommandBegin(); err != nil {
		return errorText(err)
	}
	defer c.session.CommandEnd()
	gctx := gms.NewContext(ctx, gms.WithSession(c.session), gms.WithQuery(text))
	if implicitCommit.MatchString(text) {
		if err := c.session.CommitImplicit(gctx); err != nil {
			return errorText(err)
		}
	}
	rows, err := c.rows(gctx, text)
	if err != nil {
		if undo := c.session.UndoStatement(gctx, err); undo != nil {
			return "undo failed: " + undo.Error()
		}
		return errorText(err)
	}
	return rows
}

func (c *client) rows(ctx *gms.Context, text string) (string, error) {
	schema, it, _, err := c.backend.Engine().QueryWithBindings(ctx, text, nil, nil, nil)
	if err != nil {
		return "", err
	}
	var rows []string
	for {
		row, err := it.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			it.Close(ctx)
			return "", err
		}
		values := make([]string, len(row))
		for i, v := range row {
			if values[i] = "NULL"; v != nil {
				out, err := schema[i].Type.SQL(ctx, nil, v)
				if err != nil {
					values[i] = fmt.Sprint(v)
					continue
				}
				values[i] = out.ToString()
			}
		}
		rows = append(rows, strings.Join(values, ","))
	}
	if err := it.Close(ctx); err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "none", nil
	}
	return strings.Join(rows, " | "), nil
}

// errorText is "error", the number that MySQL has for it, and the text.
func errorText(err error) string {
	err = gms.UnwrapError(err)
	if errors.Is(err, context.Canceled) {
		return "error 1317: " + err.Error()
	}
	if gms.ErrSavepointDoesNotExist.Is(err) { // which the server knows a number for, and GMS does not
		return "error 1305: " + err.Error()
	}
	var e *mysql.SQLError
	if errors.As(gms.CastSQLError(err), &e) {
		return fmt.Sprintf("error %d: %s", e.Num, e.Message)
	}
	return "error: " + err.Error()
}
