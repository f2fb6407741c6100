package torture

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// sizes are around the borders of head, words and pieces.
var sizes = []uint32{headSize, headSize + 1, headSize + 7, headSize + 8, 100, verifyPiece - 1, verifyPiece, verifyPiece + 1, 3*verifyPiece + 5}

func TestValues(t *testing.T) {
	for _, size := range sizes {
		s := stamp{writer: 3, n: 77, seq: 1 << 40, size: size}
		key := []byte("some key")
		v := s.value(nil, "left", key)
		if len(v) != int(size) {
			t.Fatalf("value has %d bytes, want %d", len(v), size)
		}
		got, err := verify(bytes.NewReader(v), int64(len(v)), "left", key)
		if err != nil || got != s {
			t.Errorf("size %d: %v, %v; want %v", size, got, err, s)
		}
		f := s.filler(place("left", key))
		streamed, err := io.ReadAll(iotest.OneByteReader(&f))
		if err != nil || !bytes.Equal(streamed, v) {
			t.Errorf("size %d: bytes streamed are other bytes (%v)", size, err)
		}
		if _, err := verify(bytes.NewReader(v), int64(len(v)), "right", key); err == nil {
			t.Errorf("size %d: the value passes in another tree", size)
		}
		if _, err := verify(bytes.NewReader(v), int64(len(v)), "left", []byte("other key")); err == nil {
			t.Errorf("size %d: the value passes under another key", size)
		}
		if _, err := verify(bytes.NewReader(v[:size-1]), int64(size-1), "left", key); err == nil {
			t.Errorf("size %d: the value passes without its last byte", size)
		}
		for i := headSize; i < len(v); i += 1 + len(v)/50 {
			v[i] ^= 1
			if _, err := verify(bytes.NewReader(v), int64(len(v)), "left", key); err == nil {
				t.Errorf("size %d: a flipped bit at %d passes", size, i)
			}
			v[i] ^= 1
		}
	}
}

func TestKeysDiffer(t *testing.T) {
	for _, no := range fixedTrees {
		seen := map[string]bool{}
		for writer := range uint16(3) {
			for i := range uint32(1000) {
				k := string(no.key(nil, writer, i))
				if seen[k] {
					t.Fatalf("tree %s: key %d of writer %d is another's too", no.name(0), i, writer)
				}
				seen[k] = true
				if w, ok := writerOf(no.name(0), []byte(k)); !ok || w != writer {
					t.Fatalf("tree %s: key %d of writer %d is said to be %d's", no.name(0), i, writer, w)
				}
			}
		}
	}
	if w, ok := ownerOf((ownTree + 2).name(5)); !ok || w != 5 {
		t.Errorf("tree %s is said to be %d's, want 5", (ownTree + 2).name(5), w)
	}
}
