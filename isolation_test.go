package hearth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// Transactions are tested by the scripts in testdata/isolation. A script is steps, one after the other; the comment at its head
// is the argument. A line has one or several steps, with "; " between them, and each a session of its own goroutine:
//
//	s1 begin                  repeatable read; "begin rc", "begin readonly", "begin wait=50ms", in any combination
//	s1 get k -> 1             "-> none" when it is not there
//	s1 put k 2                without "->" a step must succeed
//	s2 put k 3 -> waits       the step must not end now …
//	s2 done                   … but must have ended here; with what, is told by "->"
//	s1 insert k 1 -> exists   also: delete k; lock k, share k [nowait] -> value (locking reads)
//	s1 scan -> a=1 b=2        also: scan a c (from a on, below c), back (from the end); "-> none" when empty
//	s1 walk                   opens a cursor; then: next -> a=1, prev -> a=1, "-> end"
//	s1 savepoint x            also: rollback x, statement x (savepoint x and a fresh snapshot under rc)
//	s1 commit                 also: rollback
//	s1 create t2              also: drop t2, trees -> t t2, use t2 (all steps after it mean tree t2)
//	s1 open                   opens the tree for all later steps; without it every step opens it
//	put k 1                   without a session: in a transaction of its own
//
// What an error is called: see errorNames. Every script begins with an empty tree "t", and a line "--- why" begins anew: another
// database, another case.

// errorNames are how scripts call errors.
var errorNames = []struct {
	err  error
	name string
}{
	{ErrKeyNotFound, "none"}, {ErrKeyExists, "exists"}, {ErrDeadlock, "deadlock"}, {ErrLockWaitTimeout, "timeout"}, {ErrLocked, "locked"},
	{ErrReadOnly, "readonly"}, {ErrTxDone, "ended"}, {ErrTreeNotFound, "no tree"}, {ErrTreeExists, "tree exists"}, {ErrNoSavepoint, "no savepoint"},
}

func errorName(err error) string {
	for _, e := range errorNames {
		if errors.Is(err, e.err) {
			return e.name
		}
	}
	return err.Error()
}

const (
	// mustBlockFor is how long a step that waits is watched. Too short can only miss a fault, never invent one.
	mustBlockFor = 15 * time.Millisecond
	// mustWaitWithin is how long it may take until it waits.
	mustWaitWithin = time.Second
	// mustEndWithin is how long any other step may take.
	mustEndWithin = 20 * time.Second
)

func TestIsolation(t *testing.T) {
	names, err := filepath.Glob("testdata/isolation/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			t.Parallel()
			cases, err := readScript(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				runCase(t, name, c)
			}
		})
	}
}

// step is one action of a script.
type step struct {
	line    int
	session string // empty: a transaction of its own
	words   []string
	want    string // "ok" when the script does not say
}

func (s step) String() string {
	return strings.TrimSpace(s.session + " " + strings.Join(s.words, " "))
}

// readScript reads the cases of a script.
func readScript(name string) ([][]step, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cases := [][]step{nil}
	in := bufio.NewScanner(f)
	for line := 1; in.Scan(); line++ {
		text, _, _ := strings.Cut(in.Text(), "#")
		if strings.HasPrefix(text, "---") {
			cases = append(cases, nil)
			continue
		}
		for part := range strings.SplitSeq(text, ";") {
			action, want, told := strings.Cut(part, "->")
			s := step{line: line, words: strings.Fields(action), want: strings.Join(strings.Fields(want), " ")}
			if len(s.words) == 0 {
				continue
			}
			if !told {
				s.want = "ok"
			}
			if w := s.words[0]; len(w) == 2 && w[0] == 's' && w[1] >= '0' && w[1] <= '9' {
				s.session, s.words = w, s.words[1:]
			}
			cases[len(cases)-1] = append(cases[len(cases)-1], s)
		}
	}
	return slices.DeleteFunc(cases, func(c []step) bool { return len(c) == 0 }), in.Err()
}

// runCase runs one case on a database of its own.
func runCase(t *testing.T, name string, steps []step) {
	db := openMem(t, file.NewMem(1))
	if err := db.Update(context.Background(), func(tx *Tx) error { _, err := tx.CreateTree("t"); return err }); err != nil {
		t.Fatal(err)
	}
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			s.end()
		}
	}()
	for _, st := range steps {
		at := fmt.Sprintf("%s:%d: %v", name, st.line, st)
		if st.session == "" {
			s := newSession(db)
			got := s.alone(st.words)
			s.end()
			if got != st.want {
				t.Errorf("%s: got %q, want %q", at, got, st.want)
				return
			}
			continue
		}
		s := sessions[st.session]
		if s == nil {
			s = newSession(db)
			sessions[st.session] = s
		}
		if got := s.step(st); got != st.want {
			t.Errorf("%s: got %q, want %q", at, got, st.want)
			return
		}
	}
	for name, s := range sessions {
		if s.waiting {
			t.Errorf("%s: the script ends, and %s still waits", name, name)
		}
	}
}

// session is a client with a goroutine, so that it can be watched waiting.
type session struct {
	db      *DB
	do      chan []string
	done    chan string
	waiting bool // a step is under way; of the script's goroutine

	// The rest belongs to the session's goroutine.
	cancel context.CancelFunc
	ctx    context.Context
	tx     *Tx
	tree   string
	points map[string]Savepoint
	walk   *Cursor
	opened *Tree // by the step of that name; other steps open the tree each for itself
}

func newSession(db *DB) *session {
	s := &session{db: db, do: make(chan []string), done: make(chan string, 1), tree: "t", points: map[string]Savepoint{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		for words := range s.do {
			s.done <- s.act(words)
		}
		if s.tx != nil {
			s.tx.Rollback()
		}
		close(s.done)
	}()
	return s
}

// end ends the session, also one that waits.
func (s *session) end() {
	s.cancel()
	close(s.do)
	for range s.done {
	}
}

// step does one step and tells how it went.
func (s *session) step(st step) string {
	limit := mustEndWithin
	switch {
	case st.words[0] == "done" && !s.waiting:
		return "is not waiting"
	case st.words[0] == "done":
	case s.waiting:
		return "still waits"
	default:
		before := s.db.txns.Stats().Locks.Waiting
		s.do <- st.words
		s.waiting = true
		// One that is to wait is watched from when it does: on a busy machine it may not have come so far. Waits for trees do not count.
		for end := time.Now().Add(mustWaitWithin); st.want == "waits" && time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
			if s.db.txns.Stats().Locks.Waiting > before || len(s.done) > 0 {
				break
			}
		}
	}
	if st.want == "waits" {
		limit = mustBlockFor
	}
	select {
	case got := <-s.done:
		s.waiting = false
		return got
	case <-time.After(limit):
		return "waits"
	}
}

// alone does one step in a transaction of its own.
func (s *session) alone(words []string) string {
	got := ""
	for _, w := range [][]string{{"begin"}, words, {"commit"}} {
		s.do <- w
		if r := <-s.done; w[0] == words[0] {
			got = r
		} else if r != "ok" {
			return w[0] + ": " + r
		}
	}
	return got
}

// act does a step on the session's goroutine.
func (s *session) act(words []string) string {
	if words[0] == "begin" {
		return s.begin(words[1:])
	}
	if s.tx == nil {
		return "no transaction"
	}
	got, err := s.inTx(words[0], words[1:])
	if err != nil {
		return errorName(err)
	}
	return got
}

func (s *session) begin(words []string) string {
	var o TxOptions
	for _, w := range words {
		wait, isWait := strings.CutPrefix(w, "wait=")
		switch {
		case w == "rc":
			o.Isolation = ReadCommitted
		case w == "readonly":
			o.ReadOnly = true
		case isWait:
			d, err := time.ParseDuration(wait)
			if err != nil {
				return err.Error()
			}
			o.LockWait = d
		default:
			return "unknown option " + w
		}
	}
	tx, err := s.db.Begin(s.ctx, o)
	if err != nil {
		return errorName(err)
	}
	s.tx, s.walk, s.opened = tx, nil, nil
	return "ok"
}

func (s *session) inTx(verb string, args []string) (string, error) {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch verb {
	case "commit":
		return "ok", s.tx.Commit(s.ctx)
	case "rollback":
		if sp, ok := s.points[arg(0)]; ok {
			return "ok", s.tx.RollbackTo(sp)
		} else if arg(0) != "" {
			return "", fmt.Errorf("no savepoint %s", arg(0))
		}
		return "ok", s.tx.Rollback()
	case "savepoint":
		s.points[arg(0)] = s.tx.Savepoint()
		return "ok", nil
	case "statement":
		s.points[arg(0)] = s.tx.Statement()
		return "ok", nil
	case "create":
		_, err := s.tx.CreateTree(arg(0))
		return "ok", err
	case "drop":
		return "ok", s.tx.DropTree(arg(0))
	case "trees":
		names, err := s.tx.Trees()
		return orNone(names), err
	case "use":
		s.tree, s.opened = arg(0), nil
		return "ok", nil
	case "next", "prev":
		return s.move(verb)
	}
	tree := s.opened
	if tree == nil {
		var err error
		if tree, err = s.tx.Tree(s.tree); err != nil {
			return "", err
		}
	}
	return s.inTree(tree, verb, arg)
}

func (s *session) inTree(tree *Tree, verb string, arg func(int) string) (string, error) {
	key, o := []byte(arg(0)), LockOptions{NoWait: arg(1) == "nowait"}
	value := func(v []byte, err error) (string, error) { return string(v), err }
	switch verb {
	case "open":
		s.opened = tree
		return "ok", nil
	case "get":
		return value(tree.Get(key))
	case "lock":
		return value(tree.GetForUpdate(key, o))
	case "share":
		return value(tree.GetForShare(key, o))
	case "put":
		return "ok", tree.Put(key, []byte(arg(1)))
	case "insert":
		return "ok", tree.Insert(key, []byte(arg(1)))
	case "delete":
		_, err := tree.Delete(key)
		return "ok", err
	case "walk":
		s.walk = tree.Cursor()
		return "ok", nil
	case "scan", "back":
		return scan(tree, verb == "back", key, arg(1))
	}
	return "", fmt.Errorf("unknown step %s", verb)
}

func (s *session) move(verb string) (string, error) {
	ok := false
	switch {
	case s.walk == nil:
		return "", errors.New("no cursor")
	case verb == "next" && s.walk.Key() == nil:
		ok = s.walk.First()
	case verb == "next":
		ok = s.walk.Next()
	case s.walk.Key() == nil:
		ok = s.walk.Last()
	default:
		ok = s.walk.Prev()
	}
	if !ok {
		return "end", s.walk.Err()
	}
	return fmt.Sprintf("%s=%s", s.walk.Key(), s.walk.Value()), nil
}

func scan(tree *Tree, back bool, lo []byte, hi string) (string, error) {
	c := tree.Cursor()
	defer c.Close()
	var rows []string
	start, step := func() bool { return c.Seek(lo) }, c.Next
	if back {
		start, step = c.Last, c.Prev
	}
	for ok := start(); ok && (hi == "" || string(c.Key()) < hi); ok = step() {
		rows = append(rows, fmt.Sprintf("%s=%s", c.Key(), c.Value()))
	}
	return orNone(rows), c.Err()
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}
