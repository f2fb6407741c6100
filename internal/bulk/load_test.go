package bulk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

var tabs = Format{FieldsTerminatedBy: "\t", FieldsEscapedBy: '\\', LinesTerminatedBy: "\n", MaxField: 1 << 20}

var csv = Format{FieldsTerminatedBy: ",", FieldsEnclosedBy: '"', FieldsEscapedBy: '\\', LinesTerminatedBy: "\r\n", MaxField: 1 << 20}

// readAll returns the rows as text: fields in brackets, NULL without.
func readAll(in io.Reader, f Format) (string, error) {
	r, err := NewLoadReader(in, f)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for {
		fields, _, err := r.Next(1 << 20)
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		for _, f := range fields {
			if f.Null {
				b.WriteString("NULL ")
			} else {
				fmt.Fprintf(&b, "%q ", f.Text)
			}
		}
		b.WriteString("| ")
	}
}

// The cases were tried with MariaDB 10.11; TestLoadDataAsMariaDB of package server compares at random.
func TestLoadReader(t *testing.T) {
	with := func(f Format, change func(*Format)) Format { change(&f); return f }
	for _, c := range []struct {
		name, in string
		f        Format
		want     string
	}{
		{"fields and lines", "a\tb\nc\td\n", tabs, `"a" "b" | "c" "d" | `},
		{"no newline at the end", "a\tb", tabs, `"a" "b" | `},
		{"a separator at the end", "a\t", tabs, `"a" | `},
		{"an empty file", "", tabs, ``},
		{"an empty line is a row", "\n\na\n", tabs, `"" | "" | "a" | `},
		{"escapes", `\t\n\r\b\0\Z\\\x` + "\\\t\\\n|\n", tabs, `"\t\n\r\b\x00\x1a\\x\t\n|" | `},
		{"NULL is a lonely escape", "\\N\t\\Nx\tx\\N\tN\tNULL\n", tabs, `NULL "Nx" "xN" "N" "NULL" | `},
		{"quotes", `"a","b,c","d` + "\r\n" + `e",f` + "\r\n", csv, `"a" "b,c" "d\r\ne" "f" | `},
		{"quotes doubled, escaped, and lost", `"a""b","a\"b","a"b",a"b,"a""",""` + "\r\n", csv, `"a\"b" "a\"b" "a\"b" "a\"b" "a\"" "" | `},
		{"the word NULL, where there are quotes", `NULL,"NULL",\N,"\N",null` + "\r\n", csv, `NULL "NULL" NULL NULL "null" | `},
		{"the end within quotes", `"a,b`, csv, `"\"a,b" | `},
		{"half a separator", "a\rb,c\r\nd\r", csv, `"a\rb" "c" | "d\r" | `},
		{"quotes without escapes", `"a\",b""c` + "\n", with(csv, func(f *Format) { f.FieldsEscapedBy, f.LinesTerminatedBy = 0, "\n" }), `"a\\" "b\"\"c" | `},
		{"the quote as escape", `"a""b",""` + "\n", with(csv, func(f *Format) { f.FieldsEscapedBy, f.LinesTerminatedBy = '"', "\n" }), `"a\"b" "" | `},
		{"long separators", "a<>b<<>c<>>d|\n|e|\n", with(tabs, func(f *Format) { f.FieldsTerminatedBy, f.LinesTerminatedBy = "<>", "|\n" }), `"a" "b<" "c" ">d" | "|e" | `},
		{"a prefix", "no\nxxx1\ta\nwhat xxx2\n3\n", with(tabs, func(f *Format) { f.LinesStartingBy = "xxx" }), `"1" "a" | "2" | `},
		{"no separator of lines", "a,b,c", Format{FieldsTerminatedBy: ",", MaxField: 10}, `"a" | "b" | "c" | `},
		{"zero bytes", "a\x00b\t\x00\n", tabs, `"a\x00b" "\x00" | `},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				if got, err := readAll(in, c.f); err != nil || got != c.want {
					t.Fatalf("got %s, %v\nwant %s", got, err, c.want)
				}
			}
		})
	}
}

func TestLoadReaderRefuses(t *testing.T) {
	if _, err := NewLoadReader(strings.NewReader(""), Format{}); !errors.Is(err, ErrFixedRows) {
		t.Errorf("fixed rows: %v", err)
	}
	if _, err := NewLoadReader(strings.NewReader(""), Format{FieldsTerminatedBy: strings.Repeat("x", maxTerminator+1)}); err == nil {
		t.Error("a separator of any length")
	}
	short := tabs
	short.MaxField = 10
	if _, err := readAll(strings.NewReader(strings.Repeat("x", 100)), short); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a long field: %v", err)
	}
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))
	if got, err := readAll(in, tabs); !errors.Is(err, broken) || got != `"a" | ` {
		t.Errorf("a file that breaks: %q, %v", got, err)
	}
}

func TestSkipLine(t *testing.T) {
	r, err := NewLoadReader(strings.NewReader("\"he\\\r\nad\r\nline\r\na\r\n"), csv)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.SkipLine(); err != nil {
			t.Fatal(err)
		}
	}
	if f, _, err := r.Next(10); err != nil || len(f) != 1 || string(f[0].Text) != "a" {
		t.Fatalf("got %v, %v", f, err)
	}
	if err := r.SkipLine(); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
}

func TestNextPassesTheRest(t *testing.T) {
	r, err := NewLoadReader(strings.NewReader("a,b,\"c\r\nd\",e\r\nf\r\n"), csv)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		fields int
		rest   bool
	}{{2, true}, {2, false}, {1, false}} {
		if f, rest, err := r.Next(2); err != nil || len(f) != want.fields || rest != want.rest {
			t.Fatalf("got %v, %v, %v, want %v", f, rest, err, want)
		}
	}
}

// What is written with quotes and escapes is read as it was, in buffers of any size.
func TestLoadReaderReadsWhatWasWritten(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var file bytes.Buffer
		var want strings.Builder
		for range rnd.IntN(30) {
			for i := range 1 + rnd.IntN(5) {
				if i > 0 {
					file.WriteString(csv.FieldsTerminatedBy)
				}
				if rnd.IntN(10) == 0 {
					file.WriteString(`\N`)
					want.WriteString("NULL ")
					continue
				}
				text := make([]byte, rnd.IntN(20))
				if rnd.IntN(50) == 0 {
					text = make([]byte, rnd.IntN(2*bufferBytes))
				}
				for j := range text {
					text[j] = "ab,\"\\\r\n\x00NZ"[rnd.IntN(10)]
				}
				if string(text) == "N" { // would be NULL, escaped or not
					text = nil
				}
				file.WriteString(`"` + strings.NewReplacer(`"`, `""`, `\`, `\\`).Replace(string(text)) + `"`)
				fmt.Fprintf(&want, "%q ", text)
			}
			file.WriteString(csv.LinesTerminatedBy)
			want.WriteString("| ")
		}
		got, err := readAll(iotest.HalfReader(bytes.NewReader(file.Bytes())), csv)
		if err != nil || got != want.String() {
			t.Fatalf("seed %d: %v\nfile %q\ngot  %s\nwant %s", seed, err, file.String(), got, want.String())
		}
	}
}

func FuzzLoadReader(f *testing.F) {
	f.Add([]byte("a\tb\\N\n\"x\"\"y\"\t\n"), "\t", byte('"'), byte('\\'), "", "\n")
	f.Add([]byte("xx1,2;;xx3"), ",", byte(0), byte(0), "xx", ";;")
	f.Fuzz(func(t *testing.T, file []byte, fields string, quote, escape byte, start, lines string) {
		format := Format{FieldsTerminatedBy: fields, FieldsEnclosedBy: quote, FieldsEscapedBy: escape, LinesStartingBy: start, LinesTerminatedBy: lines, MaxField: 1 << 10}
		whole, err1 := readAll(bytes.NewReader(file), format)
		bytewise, err2 := readAll(iotest.OneByteReader(bytes.NewReader(file)), format)
		if whole != bytewise || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q, %v; byte by byte %q, %v", whole, err1, bytewise, err2)
		}
	})
}
