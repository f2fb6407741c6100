package wal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

var testUUID = [16]byte{'w', 'a', 'l'}

const testSegment = 64 << 10

func testConfig(fs file.FS) Config {
	return Config{FS: fs, Dir: "log", UUID: testUUID, SegmentBytes: testSegment, Ring: file.AlignedBuf(MinRing), Incarnation: 1, Start: FirstLSN}
}

func readerConfig(fs file.FS) ReaderConfig {
	return ReaderConfig{FS: fs, Dir: "log", UUID: testUUID, SegmentBytes: testSegment}
}

func mustOpen(t testing.TB, cfg Config) *Log {
	t.Helper()
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bodyFor is a body that tells its number, of about n bytes.
func bodyFor(i, n int) []byte {
	edit := bytes.Repeat([]byte{byte(i)}, max(n, 8))
	binary.LittleEndian.PutUint64(edit, uint64(i))
	edit[0] |= 0x80 // no edit of page's, so no transaction
	return AppendRecord(nil, page.MakeID(1, uint32(i%7)), edit)
}

func mustAppend(t testing.TB, l *Log, body []byte) page.LSN {
	t.Helper()
	_, end, err := l.Append(body)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func mustWait(t testing.TB, l *Log, lsn page.LSN) {
	t.Helper()
	if err := l.WaitDurable(context.Background(), lsn); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// readAll reads from a position to the end of the log.
func readAll(t testing.TB, cfg ReaderConfig, from page.LSN) (groups []Group, end page.LSN) {
	t.Helper()
	r, err := NewReader(cfg, from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		g, err := r.Next()
		if errors.Is(err, io.EOF) {
			return groups, r.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		g.Body = bytes.Clone(g.Body)
		groups = append(groups, g)
	}
}

func wantBodies(t testing.TB, got []Group, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d groups, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i].Body, want[i]) {
			t.Fatalf("group %d at %d: body of %d bytes differs, want %d bytes", i, got[i].Start, len(got[i].Body), len(want[i]))
		}
	}
}

func rng(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// reseal makes header and checksum of an index fit its payload.
func reseal(b []byte, pages, lsns, txs uint32) {
	binary.LittleEndian.PutUint32(b[12:], pages)
	binary.LittleEndian.PutUint32(b[56:], lsns)
	binary.LittleEndian.PutUint32(b[60:], txs)
	binary.LittleEndian.PutUint32(b[64:], uint32(len(b)-indexHeaderSize))
	binary.LittleEndian.PutUint32(b[68:], indexSum(b))
}
