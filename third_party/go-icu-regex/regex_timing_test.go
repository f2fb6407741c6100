package regex

import (
	"strings"
	"testing"
)

// What a row of a query costs: a Regex for each, its pattern known.
func BenchmarkRow(b *testing.B) {
	for _, bench := range []struct{ name, pattern, text string }{
		{"word", "row", "the second row of the table"},
		{"class", "[a-z]+d row", "the second row of the table"},
		{"fold", "(?i)SECOND", "the second row of the table"},
		{"anchored", "^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}$", "somebody.else@mail.example.org"},
		{"choice", "(?:first|second|third) (\\w+)", "the second row of the table"},
		{"absent", "xyz.*abc", strings.Repeat("the second row of the table ", 40)},
		{"backtracking", "(a+)+b", "aaaaaaaaaaaaaaac"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := CreateRegex(0)
				if err := x.SetRegexString(b.Context(), bench.pattern, RegexFlags_None); err != nil {
					b.Fatal(err)
				}
				if err := x.SetMatchString(b.Context(), bench.text); err != nil {
					b.Fatal(err)
				}
				if _, err := x.Matches(b.Context(), 0, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// How fast a long text is read.
func BenchmarkText(b *testing.B) {
	text := strings.Repeat("Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor incidunt ut labore.\n", 10_000)
	for _, pattern := range []string{"nowhere", "[qx]z", "(?i)nowhere", "\\bnowhere\\b", "[a-z]+nowhere", "(?s).*nowhere", "é"} {
		b.Run(pattern, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			x := CreateRegex(0)
			if err := x.SetRegexString(b.Context(), pattern, RegexFlags_None); err != nil {
				b.Fatal(err)
			}
			if err := x.SetMatchString(b.Context(), text); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if ok, err := x.Matches(b.Context(), 0, 0); ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
