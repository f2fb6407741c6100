package txn

import (
	"encoding/binary"
	"fmt"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/page"
)

const (
	versionDeleted = 1
	versionLarge   = 2
	versionFirst   = 4 // nothing is before it: undo only tells when it was written

	versionHead = 17
	largeRef    = 12
)

var _ [btree.MaxCell - btree.MaxKey - versionHead - largeRef]struct{} // the longest key can have a large value

// version is a cell, parsed. value is a part of the cell.
type version struct {
	flags    byte
	tx, undo uint64
	value    []byte
}

func (v *version) live() bool  { return v.flags&versionDeleted == 0 }
func (v *version) large() bool { return v.flags&versionLarge != 0 }

// before is the record with the version before v, 0 = there is none. Programs before versionFirst wrote undo 0 into it.
func (v *version) before() uint64 {
	if v.flags&versionFirst != 0 {
		return 0
	}
	return v.undo
}

func parseVersion(cell []byte) (v version, ok bool) {
	if len(cell) < versionHead {
		return v, false
	}
	v = version{cell[0], binary.LittleEndian.Uint64(cell[1:]), binary.LittleEndian.Uint64(cell[9:]), cell[versionHead:]}
	switch v.flags {
	case 0, versionDeleted, versionFirst:
		return v, v.tx != 0
	case versionLarge, versionLarge | versionFirst:
		return v, v.tx != 0 && len(v.value) == largeRef
	}
	return v, false
}

func appendVersion(dst []byte, flags byte, tx, undo uint64, value []byte) []byte {
	dst = append(dst, flags)
	dst = binary.LittleEndian.AppendUint64(dst, tx)
	dst = binary.LittleEndian.AppendUint64(dst, undo)
	return append(dst, value...)
}

func appendRef(dst []byte, size int64, first uint32) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(size))
	return binary.LittleEndian.AppendUint32(dst, first)
}

// parseRef reads the value of a large version, whose length parseVersion has checked.
func parseRef(ref []byte) (size int64, first uint32) {
	return int64(binary.LittleEndian.Uint64(ref)), binary.LittleEndian.Uint32(ref[8:])
}

func badEntry(t *btree.Tree, key []byte) error {
	return &page.CorruptError{Page: t.Space().ID(0), What: fmt.Sprintf("in this space the entry of key %.64x is no version", key)}
}

// maxInline is the longest value that fits the leaf beside the key.
func maxInline(key []byte) int { return min(MaxInline, btree.MaxCell-versionHead-len(key)) }
