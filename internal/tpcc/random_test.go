package tpcc

import (
	"strings"
	"testing"
)

func TestLastName(t *testing.T) {
	for n, want := range map[int]string{0: "BARBARBAR", 371: "PRICALLYOUGHT", 999: "EINGEINGEING"} {
		if got := lastName(n); got != want {
			t.Errorf("lastName(%d) = %s, want %s", n, got, want)
		}
	}
}

// NURand stays in its range, reaches all of it, and is not uniform.
func TestNURand(t *testing.T) {
	r := newRandom(1, 1, Standard(1)).running()
	seen := make([]int, 3001)
	const n = 300_000
	for range n {
		seen[r.customer()]++ // panics outside of it
	}
	if seen[0] != 0 {
		t.Error("customer 0 was drawn")
	}
	most := 0
	for _, k := range seen[1:] {
		most = max(most, k)
	}
	if most < 3*n/3000 {
		t.Errorf("the most wanted customer was drawn %d times, want much more than the mean of %d", most, n/3000)
	}
}

// The constant of names differs between load and run by a permitted difference (2.1.6.1).
func TestLastNameConstants(t *testing.T) {
	for seed := range uint64(50) {
		load, run := newRandom(seed, 0, tiny), newRandom(seed, 9, tiny).running()
		d := load.c.last - run.c.last
		if d = max(d, -d); d < 65 || d > 119 || d == 96 || d == 112 || run.c.last < 0 || run.c.last > 255 {
			t.Errorf("seed %d: the constants differ by %d", seed, d)
		}
		if load.c.item != run.c.item || load.c.customer != run.c.customer {
			t.Errorf("seed %d: constants of one database differ", seed)
		}
	}
}

func TestOriginalIsInATenth(t *testing.T) {
	r := newRandom(1, 1, tiny)
	n := 0
	for range 10_000 {
		d := r.data()
		if len(d) < 26 || len(d) > 50 {
			t.Fatalf("%d characters, want 26 to 50", len(d))
		}
		if strings.Contains(d, "ORIGINAL") {
			n++
		}
	}
	if n < 800 || n > 1200 {
		t.Errorf("%d of 10,000 have ORIGINAL, want about 1,000", n)
	}
}

func TestMoney(t *testing.T) {
	for text, want := range map[string]cents{"0.00": 0, "300000.00": 300_000_00, "-10.00": -1000, "7": 700, "0.5": 50, "-0.07": -7} {
		var c cents
		if err := c.Scan([]byte(text)); err != nil || c != want {
			t.Errorf("%s: got %d, %v, want %d", text, c, err, want)
		}
	}
	for c, want := range map[cents]string{-7: "-0.07", 123456: "1234.56"} {
		if got := c.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	var c cents
	if err := c.Scan([]byte("1.005")); err == nil {
		t.Error("half a cent was taken")
	}
}

func TestScaleForBytes(t *testing.T) {
	for _, bytes := range []int64{20 << 20, 300 << 20, 3600 << 20} {
		s := ScaleFor(bytes)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := float64(s.Bytes()) / float64(bytes); got < 0.7 || got > 1.1 {
			t.Errorf("%d MiB: %v has %.2f of that", bytes>>20, s, got)
		}
	}
}
