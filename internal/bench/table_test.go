package bench

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	results := []Result{
		NewResult(engineMeasure, "hearth", "scan", 1, "rows/s", []float64{2000, 2200, 1800}),
		NewResult(engineMeasure, "bbolt", "scan", 1, "rows/s", []float64{1000, 1000, 1000}),
		NewResult(engineMeasure, "bbolt", "other", 2, "rows/s", []float64{1234567}),
		NewResult("attach", "hearth", "open", 1, "ms", []float64{3, 1}),
	}
	var b strings.Builder
	if err := WriteTables(&b, "hearth bench", results); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "\n\n") // after the machine
	want := `| case | threads | unit | hearth | bbolt | ÷ bbolt |
|---|---|---|---|---|---|
| scan | 1 | rows/s | 2,000 ±10% | 1,000 ±0% | 2.00 |
| other | 2 | rows/s | – | 1,234,567 ±0% | – |

| measure | system | case | threads | median | unit | runs |
|---|---|---|---|---|---|---|
| attach | hearth | open | 1 | 2.00 | ms | 3.00 1.00 |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", -1.5: "-1.50", 999: "999.00", 1000: "1,000", -123456: "-123,456", 1234567: "1,234,567"} {
		if got := number(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		runs []float64
		want float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{1, 9, 3, 5}, 4}} {
		if got := median(c.runs); got != c.want {
			t.Errorf("%v: got %v, want %v", c.runs, got, c.want)
		}
	}
}
