package main

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "65536": 65536, "4KiB": 4096, "256MiB": 256 << 20, "4GiB": 4 << 30, "1TiB": 1 << 40} {
		var got size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "GiB", "4GB", "-1", "-1MiB", "1.5GiB", "9999999999TiB", "x"} {
		var got size
		if err := got.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q: no error, got %d", bad, got)
		}
	}
}
