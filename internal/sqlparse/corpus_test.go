package sqlparse

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dolthub/vitess/go/mysql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// statements splits a file as the mysql client does: at the delimiter, which a line can change.
func statements(t *testing.T, file string) (list []string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src, delimiter := string(b), ";"
	l := lexer{src: src}
	start := 0
	for {
		tok := l.next()
		if tok.kind == end {
			break
		}
		switch {
		case tok.kind == word && strings.EqualFold(src[tok.start:tok.end], "DELIMITER") && (tok.start == 0 || src[tok.start-1] == '\n'):
			line, _, _ := strings.Cut(src[tok.end:], "\n")
			delimiter = strings.TrimSpace(line)
			l.pos = tok.end + len(line)
			start = l.pos
		case tok.kind == symbol && strings.HasPrefix(src[tok.start:], delimiter):
			if s := strings.TrimSpace(src[start:tok.start]); s != "" {
				list = append(list, s)
			}
			l.pos = tok.start + len(delimiter)
			start = l.pos
		}
	}
	if s := strings.TrimSpace(src[start:]); s != "" {
		list = append(list, s)
	}
	return list
}

// TestCorpus: everything that dumps, tools and drivers were seen to send parses. The dumps are of mariadb-dump 10.11, of a
// schema with everything it can dump. "-- refused" stands before a statement that does not parse.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, s := range statements(t, file) {
				refused := strings.Contains(s, "-- refused")
				_, err := New().ParseSimple(s)
				if (err != nil) != refused && !errors.Is(err, ast.ErrEmpty) {
					t.Errorf("%s\n%v", s, err)
				}
			}
		})
	}
}

// TestRefused: what has no equivalent stays an error of MySQL, one of syntax save for a few. Who makes one of these work moves
// its line to the corpus.
func TestRefused(t *testing.T) {
	b, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	for s := range strings.Lines(string(b)) {
		stmt, err := New().ParseSimple(s)
		var e *mysql.SQLError
		if !errors.As(err, &e) || e.Num != mysql.ERParseError && e.Num != errNotSupported {
			t.Errorf("%s: got %T and %v, want a syntax error", s, stmt, err)
		}
	}
}
