package torture

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// treeNo names a tree in journals: the fixed ones, and those that writers create and drop.
type treeNo uint32

const (
	left   treeNo = iota // left, middle and right hold the same keys, always put and deleted together;
	middle               // keys of all writers lie between each other
	right
	alone   // keys of a writer side by side
	large   // values of overflow pages
	ownTree // and from here on: trees of one writer, created and dropped
)

// fixedTrees are made by the first transaction of a database.
var fixedTrees = []treeNo{left, middle, right, alone, large}

var together = []treeNo{left, middle, right}

// Trees that hold no stamped values.
const (
	bankTree  = "bank"  // account → balance
	stampTree = "stamp" // writer → seq of its last transaction
)

// name of the tree; those from ownTree on are the writer's.
func (t treeNo) name(writer uint16) string {
	switch t {
	case left:
		return "left"
	case middle:
		return "middle"
	case right:
		return "right"
	case alone:
		return "alone"
	case large:
		return "large"
	}
	return fmt.Sprintf("own.%d.%d", writer, t-ownTree)
}

// ownerOf reads the name of a writer's own tree.
func ownerOf(name string) (writer uint16, ok bool) {
	rest, ok := strings.CutPrefix(name, "own.")
	if !ok {
		return 0, false
	}
	of, _, _ := strings.Cut(rest, ".")
	no, err := strconv.ParseUint(of, 10, 16)
	return uint16(no), err == nil
}

// Some keys are longer than others, some much: so inner pages differ in fanout and leaves in count.
const (
	longKeyEvery     = 7   // every 7th key has longKey bytes more
	longKey          = 40  // bytes
	veryLongKeyEvery = 331 // prime, so that it meets all residues
	veryLongKey      = 2900
)

// key makes the key with an index in a tree. Keys of one writer differ; keys of two writers do too.
func (t treeNo) key(dst []byte, writer uint16, index uint32) []byte {
	dst = dst[:0]
	if t <= right { // scatter neighbours: an odd factor is a bijection
		dst = binary.BigEndian.AppendUint32(dst, index*0x9e3779b1)
		dst = binary.BigEndian.AppendUint16(dst, writer)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, writer)
		dst = binary.BigEndian.AppendUint32(dst, index)
	}
	pad := 0
	switch {
	case index%veryLongKeyEvery == veryLongKeyEvery-1:
		pad = veryLongKey
	case index%longKeyEvery == 0:
		pad = longKey
	}
	for i := range pad {
		dst = append(dst, byte('a'+i%26))
	}
	return dst
}

// writerOf reads whose a key is.
func writerOf(tree string, key []byte) (uint16, bool) {
	at := 0
	switch tree {
	case left.name(0), middle.name(0), right.name(0):
		at = 4
	}
	if len(key) < at+2 {
		return 0, false
	}
	return binary.BigEndian.Uint16(key[at:]), true
}

func numberKey(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

// A balance has a tail of zeroes, so that the leaves of the bank are more than one.
const bankValueSize = 200

func bankValue(balance int64) []byte {
	b := make([]byte, bankValueSize)
	binary.LittleEndian.PutUint64(b, uint64(balance))
	return b
}

func parseBank(value []byte) (int64, error) {
	if len(value) != bankValueSize {
		return 0, fmt.Errorf("a balance has %d bytes, want %d", len(value), bankValueSize)
	}
	for _, c := range value[8:] {
		if c != 0 {
			return 0, fmt.Errorf("a balance has a tail of %x", value[8:])
		}
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

func seqValue(seq uint64) []byte { return binary.LittleEndian.AppendUint64(nil, seq) }

func parseSeq(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("a stamp row has %d bytes, want 8", len(value))
	}
	return binary.LittleEndian.Uint64(value), nil
}
