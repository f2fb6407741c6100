package rows

import (
	"encoding/binary"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// A row, and what an index entry has besides its key:
//
//	0       u8   version 1 in the high half; in the low half the width w of the ends below: 1, 2 or 4
//	1       u16  n, how many columns are stored
//	3            a bit for each column, 1: NULL; column i is bit i%8 of byte i/8
//	...          columns of a fixed width in order, NULL or not (NULL: zeroes)
//	...          the other columns, one behind the other
//	-w*v         where each of those v columns ends, counted from the start of the first; w bytes each
//
// Numbers are little-endian, values of columns are not (codec.go). So a wanted column is found without looking at the others,
// and a row that was stored before columns were added behind the last one stays readable: those are NULL in it.
const (
	formatVersion = 1
	headSize      = 3

	// MaxColumns is how many columns a table can have, that of MySQL.
	MaxColumns = 4096
)

// layout says where in a row the columns are. Column i of the layout is the one of that place among the stored ones.
type layout struct {
	slots []slot
	slot  []int // by ordinal in the table: its slot, -1 if it is not stored here

	// By n, the number of stored columns: bytes of those of a fixed width, and how many others.
	fixed, others []int
}

// slot is a stored column.
type slot struct {
	codec
	column int // ordinal in the table
	at     int // offset in the fixed part; number among the others
}

// newLayout stores the given ordinals of a table's columns, in that order.
func newLayout(codecs []codec, ordinals []int) *layout {
	l := &layout{fixed: []int{0}, others: []int{0}}
	for range codecs {
		l.slot = append(l.slot, -1)
	}
	for i, column := range ordinals {
		s := slot{codec: codecs[column], column: column}
		l.slot[column] = i
		fixed, others := l.fixed[i], l.others[i]
		if s.width > 0 {
			s.at = fixed
			fixed += s.width
		} else {
			s.at = others
			others++
		}
		l.slots = append(l.slots, s)
		l.fixed, l.others = append(l.fixed, fixed), append(l.others, others)
	}
	return l
}

// appendRow appends the stored columns of row.
func (l *layout) appendRow(dst []byte, row gms.Row) ([]byte, error) {
	start, n := len(dst), len(l.slots)
	fixed := headSize + (n+7)/8
	dst = append(dst, make([]byte, fixed+l.fixed[n])...)
	data := len(dst)
	var few [16]uint32
	ends := few[:0]
	for i := range l.slots {
		s := &l.slots[i]
		v := row[s.column]
		switch {
		case v == nil:
			dst[start+headSize+i/8] |= 1 << (i % 8)
		case s.width > 0:
			at := start + fixed + s.at
			if err := s.put(dst[at:at+s.width], v); err != nil {
				return dst[:start], fmt.Errorf("column %d: %w", s.column, err)
			}
		default:
			var err error
			if dst, err = s.appendVar(dst, v); err != nil {
				return dst[:start], fmt.Errorf("column %d: %w", s.column, err)
			}
		}
		if s.width == 0 {
			ends = append(ends, uint32(len(dst)-data))
		}
	}
	width := byte(1)
	switch size := uint64(len(dst) - data); {
	case size >= 1<<32:
		return dst[:start], fmt.Errorf("a row of %d bytes, the limit is 4 GiB", size)
	case size >= 1<<16:
		width = 4
	case size >= 1<<8:
		width = 2
	}
	dst[start] = formatVersion<<4 | width
	binary.LittleEndian.PutUint16(dst[start+1:], uint16(n))
	for _, end := range ends {
		switch width {
		case 1:
			dst = append(dst, byte(end))
		case 2:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(end))
		default:
			dst = binary.LittleEndian.AppendUint32(dst, end)
		}
	}
	return dst, nil
}

// stored is a row whose parts have been found.
type stored struct {
	n                        int // how many columns it has
	nulls, fixed, data, ends []byte
	width                    int // of ends
}

// open finds the parts of a row. It looks at no column.
func (l *layout) open(b []byte) (r stored, err error) {
	if len(b) < headSize {
		return r, corrupt("row", "%d bytes", len(b))
	}
	r.width = int(b[0] & 15)
	if b[0]>>4 != formatVersion || r.width != 1 && r.width != 2 && r.width != 4 {
		return r, corrupt("row", "format %#x, this program knows version %d", b[0], formatVersion)
	}
	r.n = int(binary.LittleEndian.Uint16(b[1:]))
	if r.n > len(l.slots) {
		return r, corrupt("row", "%d columns, the table has %d", r.n, len(l.slots))
	}
	fixed := headSize + (r.n+7)/8
	data := fixed + l.fixed[r.n]
	ends := len(b) - r.width*l.others[r.n]
	if data > ends {
		return r, corrupt("row", "%d bytes, its %d columns need %d", len(b), r.n, data+len(b)-ends)
	}
	r.nulls, r.fixed, r.data, r.ends = b[headSize:fixed], b[fixed:data], b[data:ends], b[ends:]
	if last := r.end(l.others[r.n] - 1); last != len(r.data) {
		return r, corrupt("row", "its columns end at byte %d of %d", last, len(r.data))
	}
	return r, nil
}

// end is where other column k ends in data; there is a column -1, which ends at 0.
func (r *stored) end(k int) int {
	switch {
	case k < 0:
		return 0
	case r.width == 1:
		return int(r.ends[k])
	case r.width == 2:
		return int(binary.LittleEndian.Uint16(r.ends[2*k:]))
	}
	return int(binary.LittleEndian.Uint32(r.ends[4*k:]))
}

// null: column i is NULL or was added after the row was stored.
func (r *stored) null(i int) bool { return i >= r.n || r.nulls[i/8]&(1<<(i%8)) != 0 }

// other is where other column k is in data. False: the ends contradict themselves.
func (r *stored) other(k int) (from, to int, ok bool) {
	from, to = r.end(k-1), r.end(k)
	return from, to, from <= to && to <= len(r.data)
}

// decode fills row[i] for every ordinal i in want that is stored here, for all of those if want is nil.
func (l *layout) decode(b []byte, row gms.Row, want []int) error {
	r, err := l.open(b)
	if err != nil {
		return err
	}
	texts := l.shareTexts(&r, want)
	if want == nil {
		for i := range l.slots {
			if err := l.decodeSlot(&r, i, row, &texts); err != nil {
				return err
			}
		}
		return nil
	}
	for _, column := range want {
		if i := l.slot[column]; i >= 0 {
			if err := l.decodeSlot(&r, i, row, &texts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *layout) decodeSlot(r *stored, i int, row gms.Row, texts *shared) error {
	s := &l.slots[i]
	if r.null(i) {
		row[s.column] = nil
		return nil
	}
	if s.width > 0 {
		v, ok := s.load(r.fixed[s.at : s.at+s.width])
		if !ok {
			return corrupt("row", "column %d: no %s is stored as %x", s.column, s.typ, r.fixed[s.at:s.at+s.width])
		}
		row[s.column] = v
		return nil
	}
	from, to, ok := r.other(s.at)
	if !ok {
		return corrupt("row", "column %d from byte %d to %d of %d", s.column, from, to, len(r.data))
	}
	if s.kind == kindText && from >= texts.from && to <= texts.to {
		row[s.column] = texts.s[from-texts.from : to-texts.from]
		return nil
	}
	v, err := s.loadVar(r.data[from:to])
	if err != nil {
		return err
	}
	row[s.column] = v
	return nil
}

// shared is one copy of a stretch of data that several texts are slices of: an allocation instead of one for each.
type shared struct {
	s        string
	from, to int // of data
}

// maxShared bounds, in bytes, what one text of a row that is kept can keep alive besides itself.
const maxShared = 4096

// shareTexts copies the wanted texts if there are several and they stand side by side.
func (l *layout) shareTexts(r *stored, want []int) shared {
	none := shared{from: len(r.data) + 1, to: -1}
	if l.others[r.n] < 2 {
		return none
	}
	texts, sum, all := 0, 0, none
	add := func(i int) {
		if i < 0 || l.slots[i].kind != kindText || r.null(i) {
			return
		}
		from, to, ok := r.other(l.slots[i].at)
		if !ok {
			return // decodeSlot will say so
		}
		texts++
		sum += to - from
		all.from, all.to = min(all.from, from), max(all.to, to)
	}
	if want == nil {
		for i := range l.slots {
			add(i)
		}
	} else {
		for _, column := range want {
			add(l.slot[column])
		}
	}
	if texts < 2 || sum != all.to-all.from || sum > maxShared {
		return none
	}
	all.s = string(r.data[all.from:all.to])
	return all
}
