package regex

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestTimeLimit: searches whose work grows faster than any text end, and always in the same way.
func TestTimeLimit(t *testing.T) {
	as := strings.Repeat("a", 10_000)
	for _, c := range []struct{ pattern, text string }{
		{"(a+)+b", as},
		{"((A+)+)+B", strings.Repeat("A", 40)},
		{"(a|a)*b", as[:40]},
		{"(a|aa)+$", as[:60] + "b"},
		{"(x+x+)+y", strings.Repeat("x", 60)},
		{"(.*)*x", as},
		{"((a*)*)*b", as[:60]},
		{"(?=(a+)+b)", as[:60]},
		{"a.*a.*a.*a.*a.*b", as},
		{"(?:(?>a*)c)|(?:b?a*+)*d", strings.Repeat(as, 20)},
		{"(.*)\\1\\1\\1b", as},
	} {
		for range 2 {
			x, err := open(t, c.pattern, "", c.text)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := x.Matches(t.Context(), 0, 0); !ErrTimeout.Is(err) || number(err) != "3699" {
				t.Errorf("%s: got %v, %v, want error 3699", c.pattern, ok, err)
			}
		}
	}
}

// TestLinear: what costs no more than so and so much for each byte has no limit.
func TestLinear(t *testing.T) {
	text := strings.Repeat("Lorem ipsum dolor sit amet, ", 1<<16) // 1.8 MB
	for _, pattern := range []string{"nowhere", "[xyz]+$", "(?i)NOWHERE", "(?s).*nowhere", "\\bnowhere\\b", "(?:Lorem|ipsum|dolor)x"} {
		x, err := open(t, pattern, "", text)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := x.Matches(t.Context(), 0, 0); ok || err != nil {
			t.Errorf("%s: %v, %v", pattern, ok, err)
		}
	}
	x, err := open(t, "(\\w)(\\w*)", "", text)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(text, "Lorem ipsum dolor sit amet, ", "oremL psumi olord its meta, ")
	if got, err := x.Replace(t.Context(), "$2$1", 1, 0); got != want || err != nil {
		t.Errorf("replace: %.60q, %v", got, err)
	}
}

// TestStackLimit: a match that would keep too many states ends, one that just fits does not.
func TestStackLimit(t *testing.T) {
	for _, c := range []struct {
		limit int64
		bytes int
		fails bool
	}{{DefaultStackLimit, 1_000, false}, {DefaultStackLimit, 1_000_000, true}, {1_000, 1_000, true}, {0, 1_000_000, false}} {
		SetStackLimit(c.limit)
		x, err := open(t, "(?:a|b)*c", "", strings.Repeat("ab", c.bytes/2)+"c")
		if err != nil {
			t.Fatal(err)
		}
		ok, err := x.Matches(t.Context(), 0, 0)
		if fails := ErrStackOverflow.Is(err); fails != c.fails || ok == fails || err != nil && number(err) != "3698" {
			t.Errorf("%d bytes of text, %d of stack: got %v, %v", c.bytes, c.limit, ok, err)
		}
	}
	SetStackLimit(DefaultStackLimit)
}

// TestSetTimeLimit: more steps reach further.
func TestSetTimeLimit(t *testing.T) {
	defer SetTimeLimit(DefaultTimeLimit)
	x, err := open(t, "(a+)+b", "", strings.Repeat("a", 20))
	if err != nil {
		t.Fatal(err)
	}
	for steps, fails := range map[int64]bool{1: true, 32: true, 10_000: false, 0: false} {
		SetTimeLimit(steps)
		if ok, err := x.Matches(t.Context(), 0, 0); ok || ErrTimeout.Is(err) != fails {
			t.Errorf("%d steps: %v, %v", steps, ok, err)
		}
	}
}

// TestInterrupt: a statement that is killed does not wait for its search.
func TestInterrupt(t *testing.T) {
	defer SetTimeLimit(DefaultTimeLimit)
	SetTimeLimit(0)
	x, err := open(t, "(a+)+b", "", strings.Repeat("a", 100))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Matches(ctx, 0, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestResultLimit: a replacement does not fill the memory.
func TestResultLimit(t *testing.T) {
	x, err := open(t, "a", "", strings.Repeat("a", 1<<16))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Replace(t.Context(), strings.Repeat("b", 1<<12), 1, 0); !ErrResultTooLarge.Is(err) {
		t.Errorf("got %v", err)
	}
}

// TestCacheIsBounded: many patterns do not stay.
func TestCacheIsBounded(t *testing.T) {
	for i := range 3 * CacheEntries {
		if _, err := compiled(strings.Repeat("a", i+1), RegexFlags_None); err != nil {
			t.Fatal(err)
		}
	}
	cache.Lock()
	defer cache.Unlock()
	if n := len(cache.programs); n > CacheEntries {
		t.Errorf("got %d, want at most %d", n, CacheEntries)
	}
}
