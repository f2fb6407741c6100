package dict

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
)

// TestKill lets a process of its own change definitions and take values, kills it at a random moment, and looks at what is left:
// every table that was acknowledged is there, no tree and no record is left over, no id and no value comes again.
func TestKill(t *testing.T) {
	if dir := os.Getenv("DICT_TEST_VICTIM"); dir != "" {
		victim(t, dir)
		return
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.with("d")
	var lastID, lastValue uint64
	for round := range 6 {
		w.close()
		acknowledged := killed(t, w.dir, time.Duration(50+rng.IntN(400))*time.Millisecond)
		w.open()
		w.sound()
		tables := map[string]bool{}
		for _, line := range acknowledged {
			var name string
			var n uint64
			switch {
			case scan(line, "created %s", &name):
				tables[name] = true
			case scan(line, "dropping %s", &name):
				delete(tables, name) // it may be there or not
			case scan(line, "id %d", &n):
				if n <= lastID {
					t.Fatalf("seed %d, round %d: id %d came after %d", seed, round, n, lastID)
				}
				lastID = n
			case scan(line, "value %d", &n):
				lastValue = max(lastValue, n)
			}
		}
		for name := range tables {
			if w.Schema().Table("d", name) == nil {
				t.Errorf("seed %d, round %d: table %s was acknowledged and is gone", seed, round, name)
			}
		}
		if len(acknowledged) == 0 {
			t.Logf("round %d: killed before anything was done", round)
		}
		if id := w.id(); id <= lastID {
			t.Errorf("seed %d, round %d: id %d after %d", seed, round, id, lastID)
		}
		if counting := w.Schema().Table("d", "counting"); counting != nil {
			if v, err := w.NextAuto(context.Background(), counting, 0, 1, 1); err != nil || v <= lastValue {
				t.Errorf("seed %d, round %d: value %d, %v, after %d", seed, round, v, err, lastValue)
			}
		}
	}
	t.Logf("last id %d, last value %d", lastID, lastValue)
}

func scan(line, format string, into any) bool {
	n, err := fmt.Sscanf(line, format, into)
	return n == 1 && err == nil
}

// killed runs the victim for a while and returns what it said before it died.
func killed(t *testing.T, dir string, after time.Duration) (lines []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$", "-test.v")
	cmd.Env = append(os.Environ(), "DICT_TEST_VICTIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(out)
	for s.Scan() {
		line := s.Text()
		if line == "ready" {
			time.AfterFunc(after, func() { cmd.Process.Signal(syscall.SIGKILL) })
		}
		if strings.Contains(line, "FAIL") || strings.HasPrefix(line, "panic") {
			t.Errorf("the victim failed by itself: %s", line)
		}
		lines = append(lines, line)
	}
	cmd.Wait() // it was killed: an error
	return lines
}

// victim changes definitions and says so on its standard output, until it is killed.
func victim(t *testing.T, dir string) {
	w := &world{t: t, dir: dir}
	w.open()
	if w.Schema().Table("d", "counting") == nil {
		w.ok(w.change(func(c *Change) error {
			counting := w.table("d", "counting")
			counting.Columns[0] = Column{Name: "id", Type: types.Uint64, AutoIncrement: true}
			counting.Counter = counting.ID
			_, err := create1(c, counting)
			return err
		}))
	}
	var say sync.Mutex
	print := func(format string, args ...any) {
		say.Lock()
		defer say.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	print("ready")
	go func() {
		counting := w.Schema().Table("d", "counting")
		for {
			v, err := w.NextAuto(context.Background(), counting, 0, 1, 1)
			w.ok(err)
			// A value counts when a transaction that has it is acknowledged.
			w.ok(w.db.Update(context.Background(), func(tx *hearth.Tx) error {
				rows, err := tx.Tree(counting.RowTree())
				w.ok(err)
				return rows.Insert(fmt.Appendf(nil, "%020d", v), nil)
			}))
			print("value %d", v)
		}
	}()
	for {
		table := w.rich("d", fmt.Sprintf("t%d", w.id()))
		table.ForeignKeys = nil
		print("id %d", table.ID)
		w.ok(w.change(func(c *Change) error { _, err := create1(c, table); return err }))
		print("created %s", table.Name)
		w.ok(w.change(func(c *Change) error { // rewrite it
			old := c.Schema().Table("d", table.Name)
			for _, tree := range old.Trees() {
				w.ok(c.tx.DropTree(tree))
			}
			clone := old.Clone()
			clone.Storage, clone.Counter = w.id(), w.id()
			_, err := create1(c, clone)
			return err
		}))
		if table.ID%3 != 0 {
			print("dropping %s", table.Name)
			w.ok(w.change(func(c *Change) error { return remove(c, "d", table.Name) }))
		}
	}
}
