package regex

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestAgainstGo compares with package regexp, which goes about it in another way and prefers the same matches, where both know the syntax.
func TestAgainstGo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	matched := 0
	for range 5000 {
		pattern := randomPattern(r, 3)
		theirs, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for range r.IntN(12) {
			text += pick(r, "a", "b", "c", "A", "é", " ", "-", "1")
		}
		x, err := open(t, pattern, "", text)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		want := theirs.FindStringIndex(text)
		got, found, err := x.Substring(t.Context(), 1, 1)
		if ErrTimeout.Is(err) {
			continue
		}
		at, _ := x.IndexOf(t.Context(), 1, 1, false)
		switch {
		case err != nil:
			t.Fatalf("%q on %q: %v", pattern, text, err)
		case found != (want != nil):
			t.Fatalf("%q on %q: got %v, want %v", pattern, text, found, want)
		case found && (got != text[want[0]:want[1]] || at != 1+len([]rune(text[:want[0]]))):
			t.Fatalf("%q on %q: got %q at %d, want %q at byte %d", pattern, text, got, at, text[want[0]:want[1]], want[0])
		case found:
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d patterns matched", matched)
	}
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// randomPattern never repeats what may be empty: there engines differ in how often they go round.
func randomPattern(r *rand.Rand, depth int) string {
	var out strings.Builder
	for range 1 + r.IntN(3) {
		item := pick(r, "a", "b", "c", "ab", ".", "[ab]", "[^a]", "[a-c]", "é", "[a-z]", "[é-ü]", "(?i:a)")
		if depth > 0 && r.IntN(3) == 0 {
			inside := randomPattern(r, depth-1)
			if r.IntN(2) == 0 {
				inside += "|" + randomPattern(r, depth-1)
			}
			item = pick(r, "(", "(?:") + inside + ")"
		}
		if r.IntN(10) == 0 {
			out.WriteString(pick(r, "^", "$"))
		}
		if quantifier := pick(r, "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"); quantifier != "" {
			if regexp.MustCompile("^(?:" + item + ")$").MatchString("") {
				item += "b"
			}
			item = "(?:" + item + ")" + quantifier
		}
		out.WriteString(item)
	}
	return out.String()
}

// TestFolding: the tables of letters with another case miss none.
func TestFolding(t *testing.T) {
	have := map[rune]bool{}
	for _, r := range cased() {
		have[r] = true
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if (unicode.SimpleFold(r) != r) != have[r] {
			t.Errorf("%U: got %v", r, have[r])
		}
		if next := unicode.SimpleFold(r); foldRune(r) != foldRune(next) {
			t.Errorf("%U and %U fold to %U and %U", r, next, foldRune(r), foldRune(next))
		}
	}
	if n := len(fullFolds()); n != 104 { // the lines with status F in CaseFolding.txt
		t.Errorf("got %d letters that fold to several, want 104", n)
	}
}

// TestSets: operations on sets against a bit for each character.
func TestSets(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	random := func() runeSet {
		var ranges []runeRange
		for range r.IntN(6) {
			lo := rune(r.IntN(300))
			ranges = append(ranges, runeRange{lo, lo + rune(r.IntN(40))})
		}
		return setOf(ranges...)
	}
	for range 500 {
		a, b := random(), random()
		for c := rune(0); c < 400; c++ {
			inA, inB := a.contains(c), b.contains(c)
			for _, op := range []struct {
				name string
				set  runeSet
				want bool
			}{
				{"union", a.union(b), inA || inB}, {"intersection", a.intersection(b), inA && inB},
				{"difference", a.difference(b), inA && !inB}, {"negated", a.negated(), !inA},
				{"closed", a.closed(), inA || slowlyClosed(a, c)},
			} {
				if op.set.contains(c) != op.want || newClass(op.set).contains(c) != op.want {
					t.Fatalf("%v %s %v at %U: got %v", a, op.name, b, c, !op.want)
				}
			}
		}
	}
}

func slowlyClosed(set runeSet, c rune) bool {
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		if set.contains(next) {
			return true
		}
	}
	return false
}
