package bench

import (
	"bytes"
	"testing"
)

func TestRows(t *testing.T) {
	for _, n := range []int{1, 2, 1000, 5_000_000} {
		r := rows{n}
		last, key, value := make([]byte, 0, keySize), make([]byte, keySize), make([]byte, valueSize)
		for i := range min(n, 10_000) {
			if k := r.key(key, i); bytes.Compare(last, k) >= 0 {
				t.Fatalf("n=%d: key %x of row %d is not above %x", n, k, i, last)
			}
			last = append(last[:0], key...)
			v := r.value(value, i, uint64(n))
			if err := r.check(v, i); err != nil {
				t.Fatal(err)
			}
			if r.check(v, i+1) == nil || r.check(v[1:], i) == nil {
				t.Fatalf("n=%d: the check of row %d took a wrong value", n, i)
			}
		}
	}
}

// The versions of a row differ, so that overwriting it is a change.
func TestRowVersions(t *testing.T) {
	r := rows{10}
	a, b := r.value(make([]byte, valueSize), 3, 1), r.value(make([]byte, valueSize), 3, 2)
	if bytes.Equal(a, b) {
		t.Fatal("two versions of a row are equal")
	}
}
