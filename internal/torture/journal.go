package torture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A journal is a run of records: 0 length of the body u32 · 4 crc32c of the body u32 · 8 body. A body is a kind u8, then
//
//	intent: seq uvarint, when uvarint, waits for the disk u8, count uvarint, changes (kind u8, tree, a, b, n uvarint)
//	ack:    seq uvarint, when uvarint
//	event:  which u8
//
// The last record of a journal may be cut off by the death. "When" is CLOCK_MONOTONIC, one clock for all processes.
const (
	recordIntent = 1
	recordAck    = 2
	recordEvent  = 3
	recordHead   = 8
)

// event is something that happened besides, counted to show what a run has covered.
type event uint8

const (
	eventRollback event = iota
	eventSavepoint
	eventDeadlock
	eventLockWait
	eventSnapshot
	eventStream
	eventCheckpoint
	eventLong
	events // how many there are
)

var eventNames = [events]string{"rollbacks", "rollbacks to savepoints", "deadlocks", "lock waits timed out", "snapshots examined",
	"values streamed", "checkpoints", "long transactions"}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// journal is what one writer of a life tells its parent's next start.
type journal struct {
	file *os.File
	buf  []byte
}

func journalPath(dir string, writer uint16) string {
	return filepath.Join(dir, fmt.Sprintf("journal-%05d", writer))
}

func openJournal(dir string, writer uint16) (*journal, error) {
	f, err := os.OpenFile(journalPath(dir, writer), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal of writer %d: %w", writer, err)
	}
	return &journal{file: f}, nil
}

func (j *journal) intent(seq uint64, durable bool, ops []op) error {
	b := append(j.buf[:0], make([]byte, recordHead)...)
	b = append(b, recordIntent)
	b = binary.AppendUvarint(b, seq)
	b = binary.AppendUvarint(b, now())
	b = append(b, boolByte(durable))
	b = binary.AppendUvarint(b, uint64(len(ops)))
	for _, o := range ops {
		b = append(b, byte(o.kind))
		for _, v := range [...]uint32{uint32(o.tree), o.a, o.b, o.n} {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return j.write(b)
}

func (j *journal) ack(seq uint64) error {
	b := append(j.buf[:0], make([]byte, recordHead)...)
	b = append(b, recordAck)
	b = binary.AppendUvarint(b, seq)
	return j.write(binary.AppendUvarint(b, now()))
}

func (j *journal) event(e event) error {
	b := append(j.buf[:0], make([]byte, recordHead)...)
	return j.write(append(b, recordEvent, byte(e)))
}

func (j *journal) write(b []byte) error {
	j.buf = b
	binary.LittleEndian.PutUint32(b[0:], uint32(len(b)-recordHead))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[recordHead:], castagnoli))
	if _, err := j.file.Write(b); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// now is the time of the machine since it started, in nanoseconds.
func now() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("FATAL: no monotonic clock: %v", err))
	}
	return uint64(time.Duration(ts.Nano()))
}

// transaction is what a journal tells of one.
type transaction struct {
	writer  uint16
	seq     uint64
	durable bool // its commit waited for the disk
	began   uint64
	acked   uint64 // when; 0: no acknowledgement
	ops     []op
}

// errJournal is for what no death explains: the torture itself is wrong.
var errJournal = errors.New("journal contradicts itself")

// readJournal reads what a dead child left, and counts events. The file is removed.
func readJournal(dir string, writer uint16, count *[events]int) ([]transaction, error) {
	path := journalPath(dir, writer)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	txs, err := parseJournal(b, writer, count)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return txs, os.Remove(path)
}

func parseJournal(b []byte, writer uint16, count *[events]int) ([]transaction, error) {
	var txs []transaction
	for len(b) >= recordHead {
		size := int(binary.LittleEndian.Uint32(b))
		if len(b)-recordHead < size {
			break // cut off by the death
		}
		body := b[recordHead : recordHead+size]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
			return nil, fmt.Errorf("%w: a record of %d bytes has another sum", errJournal, size)
		}
		b = b[recordHead+size:]
		d := decoder{b: body}
		switch kind := d.byte(); kind {
		case recordIntent:
			txs = append(txs, d.intent(writer))
		case recordAck:
			seq, when := d.uvarint(), d.uvarint()
			if len(txs) == 0 || txs[len(txs)-1].seq != seq {
				return nil, fmt.Errorf("%w: acknowledgement of transaction %d without an intention", errJournal, seq)
			}
			txs[len(txs)-1].acked = when
		case recordEvent:
			if e := event(d.byte()); e < events {
				count[e]++
			}
		default:
			return nil, fmt.Errorf("%w: a record of kind %d", errJournal, kind)
		}
		if d.bad || len(d.b) > 0 {
			return nil, fmt.Errorf("%w: a record of %d bytes is too short or too long", errJournal, size)
		}
	}
	for i, tx := range txs {
		if i > 0 && tx.seq != txs[i-1].seq+1 || i < len(txs)-1 && tx.acked == 0 {
			return nil, fmt.Errorf("%w: transaction %d does not follow an acknowledged one", errJournal, tx.seq)
		}
	}
	return txs, nil
}

func (d *decoder) intent(writer uint16) transaction {
	tx := transaction{writer: writer, seq: d.uvarint(), began: d.uvarint(), durable: d.byte() == 1}
	n := d.uvarint()
	for range n {
		if d.bad {
			break
		}
		tx.ops = append(tx.ops, op{opKind(d.byte()), treeNo(d.uvarint()), uint32(d.uvarint()), uint32(d.uvarint()), uint32(d.uvarint())})
	}
	return tx
}

// decoder reads fields; bad says that one was not there.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes(n uint64) []byte {
	if uint64(len(d.b)) < n {
		d.bad = true
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}
