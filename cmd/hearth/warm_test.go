package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	for wait := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := (admin.Client{Dir: dir}).Status(ctx); err == nil {
			break
		} else if time.Now().After(wait) {
			t.Fatal(err)
		}
	}

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
	out([]string{"want 1 to 100"}, "warm", "dump", "--data", dir, "--percent", "101")
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

// TestProgress: the numbers of a load are in its line, whatever it is at.
func TestProgress(t *testing.T) {
	s := heat.Status{
		State: heat.StateLoading, File: "heat/0000000007.heat", Order: heat.OrderHeat, Total: 400, Loaded: 90, Present: 5, Gone: 3, NoRoom: 1, Failed: 1, Left: 300,
		Bands: 5, Band: 1, BytesPerSecond: 12.5e6, SecondsLeft: 9.4, Device: heat.Device{Situation: "contended"},
	}
	for _, c := range []struct {
		change func(*heat.Status)
		want   string
	}{
		{func(*heat.Status) {}, "[##......] loading: 100 of 400 pages, 12.5 MB/s, 9 s left; band 2 of 5; disk contended"},
		{func(s *heat.Status) { s.State, s.SecondsLeft, s.BytesPerSecond = heat.StatePaused, 0, 0 },
			"[##......] paused: 100 of 400 pages, 0.0 MB/s; band 2 of 5; disk contended"},
		{func(s *heat.Status) { s.Left = 0 }, "[########] loading: 400 of 400 pages, 12.5 MB/s, 9 s left; band 2 of 5; disk contended"},
		{func(s *heat.Status) { *s = heat.Status{State: heat.StateWaiting} }, "[........] waiting: the log is read before the load begins"},
	} {
		s := s
		c.change(&s)
		if got := bar(s, 8); got != c.want {
			t.Errorf("got\n%s, want\n%s", got, c.want)
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
