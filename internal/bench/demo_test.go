package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/restart"
)

// Bars of one length stand for one rate until another length is told.
func TestDemoBars(t *testing.T) {
	var out bytes.Buffer
	d := &demo{out: &out}
	seconds := d.lines()
	for i, done := range []int64{700, 1400, 350, 1950} {
		seconds(restart.Tick{Begin: int64(i) * 1e9, End: int64(i+1) * 1e9, Done: done}, &restart.Timeline{})
	}
	var told []string
	full := 0
	for line := range strings.Lines(out.String()) {
		n := strings.Count(line, "█")
		if strings.Contains(line, "a full bar:") {
			full++
			if n != demoBar {
				t.Errorf("a full bar of %d characters, want %d: %s", n, demoBar, line)
			}
			told = append(told, strings.Fields(line)[4])
			continue
		}
		told = append(told, strings.Fields(line)[1])
		if want := map[string]int{"700/s": 28, "1400/s": 28, "350/s": 7, "1950/s": 39}[told[len(told)-1]]; n != want {
			t.Errorf("%d characters, want %d: %s", n, want, line)
		}
	}
	if got, want := strings.Join(told, " "), "1000/s 700/s 2000/s 1400/s 350/s 1950/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What was not seen is not told as a number.
func TestDemoNotSeen(t *testing.T) {
	r := DemoResult{Title: "kill -9", Blackout: 0.12, FifthSecond: -1, Recovered: -1}
	if s := r.String(); strings.Count(s, "not seen") != 2 || strings.Contains(s, "-1") {
		t.Error(s)
	}
	if title := demoTitle([]DemoResult{r}); strings.Contains(title, "fifth") {
		t.Error(title)
	}
	r.FifthSecond, r.Recovered = 0, 0
	if s := r.String(); strings.Contains(s, "not seen") {
		t.Error(s)
	}
}
