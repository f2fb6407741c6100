package main

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth"
)

// writeDump writes a dump by the format that package heat documents: 8 pages in two bands, of the undo space, the catalog and two trees.
func writeDump(t *testing.T, name string) {
	t.Helper()
	be := binary.BigEndian
	b := be.AppendUint32(be.AppendUint32([]byte("HEARTHHD"), 1), hearth.PageSize)
	b = append(b, "0123456789abcdef"...)
	for _, v := range []uint64{4711, uint64(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano()), 64, 8} {
		b = be.AppendUint64(b, v)
	}
	b = be.AppendUint64(b, 2<<32) // bands
	for _, band := range [][2]uint64{{1024, 2}, {8, 6}} {
		b = be.AppendUint64(be.AppendUint64(b, band[0]<<32), band[1])
	}
	for _, id := range [][2]uint64{{2, 1}, {16, 7}, {1, 3}, {16, 1}, {16, 2}, {16, 3}, {17, 0}, {17, 9}} {
		b = be.AppendUint64(b, id[0]<<32|id[1])
	}
	b = be.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHeat: what is in a dump is told in numbers, and whether it is whole, to people and to programs.
func TestHeat(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	writeDump(t, name)
	out := func(fails bool, args ...string) string {
		t.Helper()
		var bad strings.Builder
		c := hearthCommand([]string{"TZ=UTC"}, append([]string{"heat"}, args...)...)
		c.Stderr = &bad
		b, err := c.Output()
		if (err != nil) != fails || fails && strings.Count(bad.String(), "\n") != 1 {
			t.Errorf("%q: %v, %s", args, err, bad.String())
		}
		return string(b)
	}
	same := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	sameJSON := func(got string, want string) {
		t.Helper()
		var g, w any
		if err := json.Unmarshal([]byte(want), &w); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &g); err != nil || strings.Count(got, "\n") != 1 {
			t.Errorf("%v, want a line of JSON: %q", err, got)
			return
		}
		a, _ := json.Marshal(g)
		b, _ := json.Marshal(w)
		same(string(a), string(b))
	}
	same(out(false, "show", name), `file      `+name+`
database  30313233343536373839616263646566
made      2026-03-01T12:00:00Z, at LSN 4711
pages     8 (0.1 MiB), of a pool of 64

band   heat from       pages      sum
   0        1024           2   25.0 %
   1           8           6  100.0 %

tree                       pages  hottest band
space 1 (undo)                 1  1
space 2 (catalog)              1  0
space 16                       4  0
space 17                       2  1
`)
	sameJSON(out(false, "show", name, "--json"), `{"file": "`+name+`", "uuid": "30313233343536373839616263646566", "lsn": 4711,
		"at": "2026-03-01T12:00:00Z", "frames": 64, "pages": 8, "bytes": 131072,
		"bands": [{"heat": 1024, "pages": 2}, {"heat": 8, "pages": 6}],
		"spaces": [{"space": 1, "pages": 1, "bands": [0, 1]}, {"space": 2, "pages": 1, "bands": [1]},
			{"space": 16, "pages": 4, "bands": [1, 3]}, {"space": 17, "pages": 2, "bands": [0, 2]}]}`)
	same(out(false, "verify", name), name+": whole, 8 pages in 2 bands\n")
	sameJSON(out(false, "verify", name, "--json"), `{"file": "`+name+`", "whole": true, "pages": 8}`)

	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-12]++ // in a page number
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show", name}, {"show", name, "--json"}, {"verify", name}} {
		same(out(true, args...), "")
	}
	var answer struct {
		File  string
		Whole bool
		Error string
	}
	line := out(true, "verify", name, "--json")
	if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Whole || answer.File != name || !strings.Contains(answer.Error, "is damaged: ") {
		t.Errorf("%v, %s", err, line)
	}
}
