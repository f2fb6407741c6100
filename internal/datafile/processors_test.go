package datafile

import "testing"

func TestParseProcessors(t *testing.T) {
	for _, c := range []struct {
		line      string
		idle, all int64
	}{
		{"cpu  100 20 30 400 50 6 7 8 9 10", 450, 621},
		{"cpu  100 20 30 400 50 6 7 8", 450, 621},
		{"cpu0 100 20 30 400 50 6 7 8 9 10", 0, 0},
		{"cpu  100 20 30 x 50 6 7 8 9 10", 0, 0},
		{"cpu  100 20 30 400", 0, 0},
		{"", 0, 0},
	} {
		if idle, all := parseProcessors(c.line); idle != c.idle || all != c.all {
			t.Errorf("%q: got %d of %d, want %d of %d", c.line, idle, all, c.idle, c.all)
		}
	}
	// The kernel's own: it only grows.
	if idle, all := processors(); all <= 0 || idle < 0 || idle > all {
		t.Errorf("the kernel tells of %d idle of %d", idle, all)
	}
}
