package torture

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/hearthdb/hearth"
)

// order is what a child reads from its standard input.
type order struct {
	Dir, Memory, Journals string
	Pool, Ring, Log       int64 // bytes
	Segment               int64 // bytes
	MemoryOff             bool
	Durability            hearth.Durability
	Seed                  uint64
	Life                  int
	Writers               int
	Keys                  uint32 // of each writer in each tree
	LargeKeys             uint32 // of each writer in the tree of large values
	LargeValue            uint32 // bytes of the largest
	Phase                 phase
	Accounts              int
	Check                 bool
	Ending                ending
}

// ending is how a life ends.
type ending string

const (
	endKilled  ending = "killed"             // works until SIGKILL
	endClosed  ending = "closed"             // closes in order once its input says so, memory kept
	endFlushed ending = "closed and written" // the same, memory given back
	endClosing ending = "killed in close"    // what became of one of the two
)

// What a child tells, in this order; each is one message on its standard output: kind u8, length u32, body.
const (
	toldStart   = 'b' // it is about to open the database
	toldOpen    = 'o' // it has: StartReport
	toldTree    = 't' // a tree begins: name
	toldRows    = 'r' // rows of that tree, see appendRow
	toldDone    = 'd' // those were all
	toldCheck   = 'c' // problems that Check found, one a string
	toldLoad    = 'l' // writers work from here on
	toldFailure = 'f' // what should not have happened
	toldClosed  = 'q' // closed in order
)

// maxMessage bounds a message in bytes: rows are sent in pieces, reports are small.
const maxMessage = 16 << 20

// teller sends messages.
type teller struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *teller) tell(kind byte, body []byte) error {
	b := make([]byte, 0, 5+len(body))
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.w.Write(append(b, body...))
	return err
}

func (t *teller) tellJSON(kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.tell(kind, b)
}

// hear reads one message. io.EOF: the child is gone.
func hear(r *bufio.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, io.EOF // cut off by the death, or by none
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxMessage {
		return 0, nil, fmt.Errorf("a message of %d bytes, want at most %d", n, maxMessage)
	}
	body = make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, io.EOF
	}
	return head[0], body, nil
}

// row is what a child read: a stamped value it has verified, or another value as it is, or what is wrong with it.
type row struct {
	key   []byte
	stamp stamp
	value []byte // of trees without stamps
	bad   string
}

// A row: key length uvarint, key, form u8, then by form: stamp; length uvarint and value; length uvarint and complaint.
const (
	rowStamped = 0
	rowPlain   = 1
	rowBad     = 2
)

func appendRow(b []byte, r row) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.key)))
	b = append(b, r.key...)
	switch {
	case r.bad != "":
		b = append(b, rowBad)
		b = binary.AppendUvarint(b, uint64(len(r.bad)))
		return append(b, r.bad...)
	case r.value != nil:
		b = append(b, rowPlain)
		b = binary.AppendUvarint(b, uint64(len(r.value)))
		return append(b, r.value...)
	}
	b = append(b, rowStamped)
	b = binary.AppendUvarint(b, uint64(r.stamp.writer))
	b = binary.AppendUvarint(b, uint64(r.stamp.n))
	b = binary.AppendUvarint(b, r.stamp.seq)
	return binary.AppendUvarint(b, uint64(r.stamp.size))
}

func (d *decoder) row() (r row) {
	r.key = d.bytes(d.uvarint())
	switch form := d.byte(); form {
	case rowStamped:
		r.stamp.writer = uint16(d.uvarint())
		r.stamp.n = uint32(d.uvarint())
		r.stamp.seq = d.uvarint()
		r.stamp.size = uint32(d.uvarint())
	case rowPlain:
		r.value = d.bytes(d.uvarint())
	case rowBad:
		r.bad = string(d.bytes(d.uvarint()))
	default:
		d.bad = true
	}
	return r
}
