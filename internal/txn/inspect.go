package txn

import "github.com/hearthdb/hearth/internal/page"

// Cell is a version as those see it who look at a tree from outside: the verifier, and the list of the catalog's files.
type Cell struct {
	Deleted  bool
	Tx, Undo uint64
	Value    []byte // a part of the cell; nil for a large value
	Large    bool
	Size     int64  // of a large value
	First    uint32 // its first overflow page
}

// ParseCell reads the value of a leaf entry. False: it is no version.
func ParseCell(cell []byte) (Cell, bool) {
	v, ok := parseVersion(cell)
	if !ok {
		return Cell{}, false
	}
	c := Cell{Deleted: !v.live(), Tx: v.tx, Undo: v.undo, Value: v.value}
	if v.large() {
		c.Large, c.Value = true, nil
		c.Size, c.First = parseRef(v.value)
	}
	return c, true
}

// UndoLog is where one undo log begins and ends.
type UndoLog struct {
	First, Tail uint32 // pages
}

// ParseUndoDirectory reads the undo directory: no id from ids on was given out, no space from nextSpace on.
func ParseUndoDirectory(p *page.Page) (ids uint64, nextSpace uint32, logs []UndoLog, err error) {
	d, err := parseDir(p)
	if err != nil {
		return 0, 0, nil, err
	}
	for _, s := range d.slots {
		logs = append(logs, UndoLog{s.first, s.tail})
	}
	next := uint32(p[dirNextSpace]) | uint32(p[dirNextSpace+1])<<8 | uint32(p[dirNextSpace+2])<<16 | uint32(p[dirNextSpace+3])<<24
	return d.ids, next, logs, nil
}

// UndoDirectory is the page that ParseUndoDirectory reads.
func UndoDirectory() page.ID { return undoDir }
