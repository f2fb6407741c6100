package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/admin"
	"github.com/hearthdb/hearth/internal/heat"
)

// TestWarm runs the verbs of warm and heat as an operator does, beside a process that has the database open.
func TestWarm(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	// out runs a command; one that fails must say each of the words.
	out := func(fails []string, args ...string) string {
		t.Helper()
		var errs strings.Builder
		c := hearthCommand(nil, args...)
		c.Stderr = &errs
		b, err := c.Output()
		if (err != nil) != (fails != nil) {
			t.Errorf("%q: %v, %s", args, err, errs.String())
		}
		for _, word := range fails {
			if !strings.Contains(errs.String(), word) || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("%q says %q, want a line with %q", args, errs.String(), word)
			}
		}
		return string(b)
	}
	has := func(text string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("want %q in\n%s", word, text)
			}
		}
	}

	out([]string{"nobody serves"}, "warm", "status", "--data", dir)
	db, err := hearth.Open(ctx, dir, &hearth.Options{PoolSize: hearth.MinPoolSize, Memory: hearth.MemoryOff, HeatDumpInterval: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(ctx, func(tx *hearth.Tx) error { _, err := tx.CreateTree("t"); return err }); err != nil {
		t.Fatal(err)
	}
	served, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- db.ServeAdmin(served) }()
	defer func() { end(); <-ended }()
	awaitAdmin(t, dir)

	has(out(nil, "warm", "status", "--data", dir), "none since the start")
	list := filepath.Join(dir, "list.heat")
	has(out(nil, "warm", "dump", "--data", dir, "--file", list), list, " pages, ", "nobody waited longer than")
	var info heat.DumpInfo
	line := out(nil, "warm", "dump", "--data", dir, "--json")
	if err := json.Unmarshal([]byte(line), &info); err != nil || info.Pages == 0 || info.Took == 0 || !strings.Contains(line, `"took_ns":`) {
		t.Errorf("%v, %+v of %s", err, info, line)
	}
	control := filepath.Join(dir, "control")
	before, err := os.ReadFile(control)
	if err != nil {
		t.Fatal(err)
	}
	out([]string{"control is no heat dump", "another name"}, "warm", "dump", "--data", dir, "--file", control)
	out([]string{"control is no heat dump"}, "warm", "load", "--data", dir, "--file", control)
	out([]string{"control is no heat dump"}, "heat", "verify", control)
	for _, percent := range []string{"101", "0", "-1"} {
		out([]string{"want 1 to 100"}, "warm", "dump", "--data", dir, "--percent="+percent)
	}
	has(out(nil, "warm", "dump", "--data", dir, "--percent", "1", "--file", filepath.Join(dir, "hot.heat")), " pages, ")
	if after, err := os.ReadFile(control); err != nil || string(after) != string(before) {
		t.Errorf("the control file is another: %v", err)
	}
	has(out(nil, "heat", "verify", list), "whole, ")
	has(out(nil, "heat", "show", list), "database  ", "band", "space 16", "space 2 (catalog)")

	has(out(nil, "warm", "load", "--data", dir, "--file", list), "done, heat order, list.heat", "0 failed, 0 left")
	for line := range strings.Lines(out(nil, "warm", "load", "--data", dir, "--json")) {
		var s heat.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if s.Total == 0 || s.Loaded+s.Present+s.Gone+s.NoRoom+s.Failed+s.Left != s.Total {
			t.Errorf("the counts do not add up: %s", line)
		}
	}
	for _, verb := range []string{"pause", "resume", "cancel"} { // nothing is under way, which is no error
		has(out(nil, "warm", verb, "--data", dir), "done, heat order")
	}
}

// awaitAdmin waits until somebody answers.
func awaitAdmin(t *testing.T, dir string) {
	t.Helper()
	for wait := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := (admin.Client{Dir: dir}).Status(t.Context()); err == nil {
			return
		} else if time.Now().After(wait) {
			t.Fatal(err)
		}
	}
}

// longLoad is a load that runs when it is first looked at, with long numbers, and has ended then.
type longLoad struct {
	admin.Warmth
	looks atomic.Int64
}

func (l *longLoad) Status() heat.Status {
	s := heat.Status{
		State: heat.StateLoading, File: "/d/heat/0000000007.heat", Total: 12_345_678, Loaded: 11_111_111, Left: 1_234_567, Bands: 20, Band: 17,
		BytesPerSecond: 1234.5e6, SecondsLeft: 12345, Device: heat.Device{Situation: "contended"},
	}
	if l.looks.Add(1) > 1 {
		s.State, s.Loaded, s.Left = heat.StateDone, s.Total, 0
	}
	return s
}

// TestFollowOnATerminal: the bar stays in one line of the window, and makes place for what is said at the end.
func TestFollowOnATerminal(t *testing.T) {
	dir := t.TempDir()
	served, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	load := new(longLoad)
	go func() { ended <- admin.Serve(served, dir, load) }()
	defer func() { end(); <-ended }()
	awaitAdmin(t, dir)
	load.looks.Store(0)
	const width = 60
	master, slave := terminal(t, width)
	c := hearthCommand(nil, "warm", "status", "--data", dir, "--follow")
	c.Stdout, c.Stderr = slave, slave
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	out, _ := io.ReadAll(master) // ends with an error when nobody has the other side any more
	if err := c.Wait(); err != nil {
		t.Errorf("%v, %q", err, out)
	}
	const clear = "\r\x1b[K"
	parts := strings.Split(string(out), clear) // before the first, a bar, what is said at the end
	if len(parts) != 3 || parts[0] != "" || len(parts[1]) != width-1 || !strings.HasPrefix(parts[1], "loading: 11111111 of 12345678 pages, 12345 s left") ||
		!strings.HasPrefix(parts[2], "load           done, ") {
		t.Errorf("in %d columns got %q", width, parts)
	}
}

// terminal is both sides of one, of so many columns.
func terminal(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	no, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", no), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// TestDumpText: who asks for a dump is told whether it is a good one.
func TestDumpText(t *testing.T) {
	i := heat.DumpInfo{File: "/d/heat/0000000007.heat", Pages: 12, Bytes: 184, Took: 3_400_000, LongestStall: 81_300}
	const whole = "/d/heat/0000000007.heat: 12 pages, 184 bytes, in 3ms; nobody waited longer than 81µs\n"
	const partial, kept = "it is partial: a load is under way\n", "the earlier dumps were all kept; "
	if got := dumpText(i); got != whole {
		t.Errorf("got\n%s, want\n%s", got, whole)
	}
	i.Partial = "a load is under way"
	if got := dumpText(i); got != whole+partial {
		t.Errorf("got\n%s, want\n%s", got, whole+partial)
	}
	i.EarlierKept = true
	if got := dumpText(i); !strings.HasPrefix(got, whole+partial+kept) {
		t.Errorf("got\n%s, want it to begin with\n%s", got, whole+partial+kept)
	}
	var b strings.Builder
	if err := writeStatus(&b, heat.Status{LastDump: &i}); err != nil || !strings.Contains(b.String(), "0000000007.heat, 12 pages, partial, at ") {
		t.Errorf("%v, %s", err, b.String())
	}
}

// TestProgress: the numbers of a load are in its line, whatever it is at, and the line is in the window, however narrow that is.
func TestProgress(t *testing.T) {
	s := heat.Status{
		State: heat.StateLoading, File: "heat/0000000007.heat", Order: heat.OrderHeat, Total: 400, Loaded: 90, Present: 5, Gone: 3, NoRoom: 1, Failed: 1, Left: 300,
		Bands: 5, Band: 1, BytesPerSecond: 12.5e6, SecondsLeft: 9.4, Device: heat.Device{Situation: "contended"},
	}
	for _, c := range []struct {
		columns int
		change  func(*heat.Status)
		want    string
	}{
		{200, func(*heat.Status) {},
			"[#######.......................] loading: 100 of 400 pages, 9 s left, 12.5 MB/s; band 2 of 5; disk contended"},
		{200, func(s *heat.Status) { s.State, s.SecondsLeft, s.BytesPerSecond = heat.StatePaused, 0, 0 },
			"[#######.......................] paused: 100 of 400 pages, 0.0 MB/s; band 2 of 5; disk contended"},
		{200, func(s *heat.Status) { s.Left = 0 },
			"[##############################] loading: 400 of 400 pages, 9 s left, 12.5 MB/s; band 2 of 5; disk contended"},
		{200, func(s *heat.Status) { *s = heat.Status{State: heat.StateWaiting} },
			"[..............................] waiting: the log is read before the load begins"},
		{80, func(*heat.Status) {}, "[#######.......................] loading: 100 of 400 pages, 9 s left, 12.5 MB/s"},
		{59, func(*heat.Status) {}, "[##.......] loading: 100 of 400 pages, 9 s left, 12.5 MB/s"},
		{58, func(*heat.Status) {}, "[##......] loading: 100 of 400 pages, 9 s left, 12.5 MB/s"},
		{57, func(*heat.Status) {}, "loading: 100 of 400 pages, 9 s left, 12.5 MB/s; band 2 o"},
		{20, func(*heat.Status) {}, "loading: 100 of 400"},
		{1, func(*heat.Status) {}, ""},
		{0, func(*heat.Status) {}, ""},
	} {
		s := s
		c.change(&s)
		if got := bar(s, c.columns); got != c.want {
			t.Errorf("in %d columns got\n%s, want\n%s", c.columns, got, c.want)
		}
	}
	var b strings.Builder
	if err := writeStatus(&b, s); err != nil {
		t.Fatal(err)
	}
	const want = "400: 90 loaded (0 with a page somebody waited for), 5 present, 3 gone, 1 without room, 1 failed, 300 left"
	if !strings.Contains(b.String(), want) {
		t.Errorf("got\n%swant in it\n%s", b.String(), want)
	}
}
