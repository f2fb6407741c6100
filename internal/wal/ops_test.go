package wal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// testdata/ops says for every command which calls change the disk, syncs among them: one too many is a diff.
// The goroutines beside the writer are waited for after every command, and come after it, so the order is always the same.
func TestOps(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "ops"))
	if err != nil {
		t.Fatal(err)
	}
	disk := file.NewMem(1)
	var mu sync.Mutex
	var ops []string
	disk.OnOp(func(op file.Op) error {
		if !op.Kind.Changes() || op.Kind == file.OpOpen || op.Kind == file.OpMkdir {
			return nil
		}
		line := fmt.Sprintf("%s %s", op.Kind, strings.TrimPrefix(op.Name, "log/"))
		if op.Kind == file.OpWrite {
			line += fmt.Sprintf(" %d+%d", op.Off, op.Len)
		}
		if op.Kind == file.OpRename {
			line += " " + strings.TrimPrefix(op.NewName, "log/")
		}
		mu.Lock()
		ops = append(ops, line)
		mu.Unlock()
		return nil
	})
	var l *Log
	cfg := testConfig(disk)
	cfg.Ring = file.AlignedBuf(1 << 20) // so large that the writer begins only when asked
	var out strings.Builder
	for _, cmd := range commands(string(text)) {
		f := strings.Fields(cmd)
		switch f[0] {
		case "open":
			l = mustOpen(t, cfg)
		case "append":
			var count, size int
			fmt.Sscan(f[1], &count)
			fmt.Sscan(f[2], &size)
			for range count {
				mustAppend(t, l, make([]byte, size))
			}
		case "durable":
			mustWait(t, l, l.Tail())
		case "written":
			if err := l.WaitWritten(context.Background(), l.Tail()); err != nil {
				t.Fatal(err)
			}
		case "keep":
			l.SetKeep(l.Tail())
		case "close":
			cfg.Start, cfg.Incarnation = l.Tail(), cfg.Incarnation+1
			mustClose(t, l)
			l = nil
		}
		if l != nil {
			settle(l)
		}
		mu.Lock()
		slices.SortStableFunc(ops, func(a, b string) int { return goroutineOf(a) - goroutineOf(b) })
		fmt.Fprintf(&out, "%s\n----\n%s\n", cmd, strings.Join(append(ops, ""), "\n"))
		ops = nil
		mu.Unlock()
	}
	if l != nil {
		mustClose(t, l)
	}
	if got := out.String(); got != string(text) {
		if os.Getenv("REWRITE") != "" {
			os.WriteFile(filepath.Join("testdata", "ops"), []byte(got), 0o644)
		}
		t.Errorf("run with REWRITE=1 and look at the diff; got:\n%s", got)
	}
}

// goroutineOf says whose call a line is: the writer's, of those who make segments, the indexer's.
func goroutineOf(line string) int {
	switch {
	case strings.Contains(line, indexTmp):
		return 2
	case strings.Contains(line, prepareName), strings.Contains(line, sparePrefix), strings.HasPrefix(line, "syncdir"), strings.HasSuffix(line, indexSuffix):
		return 1
	}
	return 0
}

// commands are the lines before each "----".
func commands(text string) (cmds []string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line == "----" {
			cmds = append(cmds, lines[i-1])
		}
	}
	return cmds
}

// settle waits until nothing happens in the background any more.
func settle(l *Log) {
	for quiet := false; !quiet; time.Sleep(time.Millisecond) {
		l.segs.mu.Lock()
		_, old := l.segs.oldestUnkept()
		quiet = l.segs.next != nil && !old && !l.segs.letting && len(l.segs.pins) == 0
		l.segs.mu.Unlock()
		quiet = quiet && l.freed.Load() >= uint64(down(l.durable.at())) // the writer wakes those who wait, then hands over to the indexer
		l.index.mu.Lock()
		quiet = quiet && len(l.index.queue) == 0 && !l.index.busy
		l.index.mu.Unlock()
	}
}
