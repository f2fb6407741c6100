package slowlog_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// FuzzReader: any bytes are read to their end, into entries that follow one another, the same ones whatever pieces they come in,
// and the same ones when only their frames are looked for.
func FuzzReader(f *testing.F) {
	logs, _ := filepath.Glob("testdata/*.log*")
	for _, name := range logs {
		log, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log, uint16(64), uint16(100))
	}
	f.Add([]byte(entry("SELECT 'it")+entry("SELECT 1")+"# Query_bytes: 7\n"), uint16(10), uint16(3))
	f.Fuzz(func(t *testing.T, log []byte, lookAhead, maxText uint16) {
		o := slowlog.Options{LookAhead: int64(lookAhead), MaxText: int64(maxText)}
		whole := slowlog.NewReader(bytes.NewReader(log), o)
		bytewise := slowlog.NewReader(iotest.OneByteReader(bytes.NewReader(log)), o)
		o.Frames = true
		frames := slowlog.NewReader(bytes.NewReader(log), o)
		var a, b, c slowlog.Entry
		inEntries := int64(0)
		for last := int64(0); ; last = a.End {
			errA, errB, errC := whole.Next(&a), bytewise.Next(&b), frames.Next(&c)
			if errA != errB || errA != errC {
				t.Fatalf("read whole: %v, byte by byte: %v, frames: %v", errA, errB, errC)
			}
			if errA == io.EOF {
				break
			}
			if errA != nil {
				t.Fatal(errA)
			}
			if a.Offset < last || a.End <= a.Offset || a.End > int64(len(log)) {
				t.Fatalf("an entry at [%d,%d) of %d bytes, after one that ended at %d", a.Offset, a.End, len(log), last)
			}
			if !bytes.Contains(log[a.Offset:a.End], a.Text) || !bytes.HasPrefix(log[a.Offset:a.End], a.Header) {
				t.Fatalf("text %q or header %q are not of their entry %q", a.Text, a.Header, log[a.Offset:a.End])
			}
			if a.Raw != nil && !bytes.Equal(a.Raw, log[a.Offset:a.End]) {
				t.Fatalf("raw %q is not the entry %q", a.Raw, log[a.Offset:a.End])
			}
			if int64(len(a.Text)) > o.MaxText && o.MaxText > 0 {
				t.Fatalf("a text of %d bytes, the limit is %d", len(a.Text), o.MaxText)
			}
			if a.Offset != b.Offset || a.End != b.End || summaryOf(&a) != summaryOf(&b) || a.Truncated != b.Truncated {
				t.Fatalf("read whole:\n%s\nbyte by byte:\n%s", summaryOf(&a), summaryOf(&b))
			}
			schema, known := whole.Schema()
			schemaC, knownC := frames.Schema()
			if a.Offset != c.Offset || a.End != c.End || a.Kind != c.Kind || !bytes.Equal(a.Text, c.Text) || !bytes.Equal(a.Header, c.Header) ||
				a.Truncated != c.Truncated || !bytes.Equal(whole.Time(), frames.Time()) || !bytes.Equal(schema, schemaC) || known != knownC {
				t.Fatalf("read whole:\n%s\nframes:\n%s", summaryOf(&a), summaryOf(&c))
			}
			for range a.Attrs() {
			}
			inEntries += a.End - a.Offset
		}
		if inEntries+whole.Skipped() > int64(len(log))+1 {
			t.Fatalf("%d bytes in entries and %d skipped, of %d", inEntries, whole.Skipped(), len(log))
		}
	})
}
