package txn

import (
	"bytes"
	"testing"

	"github.com/hearthdb/hearth/internal/btree"
)

// What lies on a damaged page is no panic, and what parses is within the limits that others rely on.
func FuzzParse(f *testing.F) {
	f.Add(byte(recInsert), appendEntryRecord(nil, 16, []byte("key"), nil))
	f.Add(byte(recUpdate), appendEntryRecord(nil, 16, []byte("key"), appendVersion(nil, 0, 7, 8, []byte("value"))))
	f.Add(byte(recUpdate), appendEntryRecord(nil, 16, []byte("key"), appendVersion(nil, versionFirst, 7, 8, []byte("value"))))
	f.Add(byte(recDelete), appendEntryRecord(nil, 16, nil, appendVersion(nil, versionLarge, 7, 8, appendRef(nil, 5000, 3))))
	f.Add(byte(recLarge), []byte{16, 0, 0, 0, 3, 0, 0, 0})
	f.Add(byte(recMakeSpace), []byte{16, 0, 0, 0})
	f.Fuzz(func(t *testing.T, typ byte, body []byte) {
		r, ok := parseRecord(1<<16|64, typ, 0, body)
		if !ok {
			return
		}
		if len(r.key) > btree.MaxKey || len(r.key)+len(r.before) > btree.MaxCell {
			t.Fatalf("a key of %d and a version of %d bytes", len(r.key), len(r.before))
		}
		switch r.typ {
		case recInsert, recUpdate, recDelete:
			if again := appendEntryRecord(nil, r.space, r.key, r.before); !bytes.Equal(again, body) {
				t.Fatalf("%x becomes %x", body, again)
			}
		}
		if v, ok := parseVersion(r.before); ok {
			if again := appendVersion(nil, v.flags, v.tx, v.undo, v.value); !bytes.Equal(again, r.before) {
				t.Fatalf("%x becomes %x", r.before, again)
			}
		}
	})
}
