package hearth_test

import (
	"bytes"
	"go/format"
	"go/parser"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// banned is what our code does not say, and what to write instead.
var banned = []struct{ pattern, instead string }{
	{`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`, "finish it now, or write an issue"},
	{`\binterface\{\}`, "write any"},
	{`/(home|root|Users)/[a-z]`, "paths of one machine do not belong into the tree"},
}

// drawers are package names that say nothing of what is inside.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "types"}

func TestTidyText(t *testing.T) {
	for _, f := range parseTree(t, parser.ImportsOnly) {
		src, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if formatted, err := format.Source(src); err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(formatted, src) {
			t.Errorf("%s: run gofmt -w", f.path)
		}
		for _, ban := range banned {
			for _, at := range regexp.MustCompile(ban.pattern).FindAllIndex(src, -1) {
				line := 1 + bytes.Count(src[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: %s", f.path, line, src[at[0]:at[1]], ban.instead)
			}
		}
	}
}

// TestTidyPackages: every package tells what it is, under a name that says it, too.
func TestTidyPackages(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range parseTree(t, parser.ParseComments|parser.PackageClauseOnly) {
		dir, name := filepath.Dir(f.path), f.ast.Name.Name
		for _, drawer := range drawers {
			if name == drawer {
				t.Errorf("%s: package %s: name it after what it knows", f.path, name)
			}
		}
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + filepath.Base(dir) + " "
		}
		documented[dir] = documented[dir] || strings.HasPrefix(f.ast.Doc.Text(), want)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment that says what the package is", dir)
		}
	}
}
