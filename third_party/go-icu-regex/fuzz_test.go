package regex

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRegex: any pattern, text, replacement and position end with a result or an error, and the results agree with each other.
func FuzzRegex(f *testing.F) {
	for _, seed := range []struct{ pattern, text string }{
		{"(a|b)*?c", "abc"}, {"[a-z&&[^b]--[c]]+", "xyz"}, {"(?i)stra(?:ss|ß)e", "STRASSE"}, {"(?<=a{1,3})b(?!c)", "aab"}, {"(?x) a # b\n", "a"},
		{`\Qa.b\E+\R\X\x{41}\u0041`, "a.b\r\nA"}, {`(?<n>a)\k<n>\1(?>b*)*+`, "aaab"}, {"^.*$", "a\r\nb"}, {"(?:a?){3,5}+\\b", "aaaa"},
		{"[[:alpha:]\\p{Lu}\\d-]", "É"}, {"((((a*)*)*)*)*b", "aaaaaaaaaaaa"}, {"\xff[\xfe]", "\xff\xfe"},
	} {
		f.Add(seed.pattern, seed.text, "<$0>", uint8(2), 1)
	}
	f.Fuzz(func(t *testing.T, pattern, text, replacement string, flags uint8, start int) {
		x := CreateRegex(0)
		if err := x.SetRegexString(t.Context(), pattern, RegexFlags(flags)); err != nil {
			if !ErrInvalidRegex.Is(err) {
				t.Fatal(err)
			}
			return
		}
		if err := x.SetMatchString(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		from, err := x.IndexOf(t.Context(), start, 1, false)
		if err != nil {
			if from != 0 || !ErrTimeout.Is(err) && !ErrStackOverflow.Is(err) && !ErrOutOfBounds.Is(err) {
				t.Fatal(from, err)
			}
			return
		}
		to, err1 := x.IndexOf(t.Context(), start, 1, true)
		substring, found, err2 := x.Substring(t.Context(), start, 1)
		if err1 != nil || err2 != nil || found != (from > 0) || found && utf8.RuneCountInString(substring) != to-from {
			t.Fatalf("%d to %d, but %q %v (%v %v)", from, to, substring, found, err1, err2)
		}
		if found && (from < start || !strings.Contains(text, substring)) {
			t.Fatalf("%q at %d", substring, from)
		}
		if once, err := x.Replace(t.Context(), `x\y`, start, 1); err == nil && found && len(once) != len(text)-len(substring)+2 {
			t.Fatalf("%q with %q replaced: %q", text, substring, once)
		}
		_, _ = x.Replace(t.Context(), replacement, start, 0)
		_, _ = x.Matches(t.Context(), start, 3)
	})
}
