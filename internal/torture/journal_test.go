package torture

import (
	"os"
	"reflect"
	"testing"
)

// writeJournal writes three transactions, of which the last is not acknowledged, and returns the bytes.
func writeJournal(t *testing.T) ([]byte, []transaction) {
	t.Helper()
	dir := t.TempDir()
	j, err := openJournal(dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	all := []transaction{
		{writer: 7, seq: 4, durable: true, ops: []op{{opPut, alone, 1, 100, 1}, {opDelete, left, 1 << 30, 0, 0}}},
		{writer: 7, seq: 5, ops: []op{{opTransfer, 0, 3, 50, 4}}},
		{writer: 7, seq: 6, durable: true, ops: []op{{opDrop, ownTree + 1, 0, 0, 0}}},
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, tx := range all {
		must(j.event(eventSavepoint))
		must(j.intent(tx.seq, tx.durable, tx.ops))
		if i < 2 {
			must(j.ack(tx.seq))
		}
	}
	b, err := os.ReadFile(journalPath(dir, 7))
	must(err)
	return b, all
}

// TestJournal: a journal cut off anywhere tells a prefix of what was written.
func TestJournal(t *testing.T) {
	b, want := writeJournal(t)
	acked := 0
	for n := range len(b) + 1 {
		var count [events]int
		got, err := parseJournal(b[:n], 7, &count)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		now := 0
		for i := range got {
			if got[i].acked != 0 {
				now++
			}
			got[i].began, got[i].acked = 0, 0
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("cut at %d: transaction %d is %+v, want %+v", n, i, got[i], want[i])
			}
		}
		if now < acked || now > acked+1 {
			t.Fatalf("cut at %d: %d acknowledged, %d before", n, now, acked)
		}
		acked = now
		if n == len(b) && (len(got) != 3 || acked != 2 || count[eventSavepoint] != 3) {
			t.Errorf("whole: %d transactions, %d acknowledged, %d events; want 3, 2, 3", len(got), acked, count[eventSavepoint])
		}
	}
}

func TestJournalContradicts(t *testing.T) {
	b, _ := writeJournal(t)
	for i := range b[:len(b)-1] {
		c := append([]byte(nil), b...)
		c[i] ^= 0x41
		var count [events]int
		if got, err := parseJournal(c, 7, &count); err == nil && len(got) == 3 && got[1].acked != 0 {
			t.Errorf("byte %d changed, and nobody noticed", i)
		}
	}
}
