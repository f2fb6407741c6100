package bulk

// Insert reads an INSERT whose values are all literals, as loaders and dumps send it, without a syntax tree:
//
//	INSERT INTO [db.]table [(column, …)] VALUES (literal, …), …
//
// It knows fewer literals and names than MySQL, and no comments: of everything else it says that it is not for it. What it takes,
// it takes as the grammar does, byte for byte.
type Insert struct {
	Database, Table string   // as written, without quotes; no database: ""
	Columns         []string // nil: no list

	scanner
}

// ParseInsert reads the statement up to VALUES. No: it is not for it.
func ParseInsert(text string) (*Insert, bool) {
	i := &Insert{scanner: scanner{text: text}}
	i.space()
	if !i.word("INSERT") || !i.word("INTO") {
		return nil, false
	}
	var ok bool
	if i.Database, i.Table, ok = i.table(); !ok {
		return nil, false
	}
	if i.byte('(') {
		for {
			i.space()
			column, ok := i.name()
			if !ok {
				return nil, false
			}
			i.Columns = append(i.Columns, column)
			i.space()
			if i.byte(')') {
				break
			}
			if !i.byte(',') {
				return nil, false
			}
		}
		i.space()
	}
	if !i.word("VALUES") && !i.word("VALUE") {
		return nil, false
	}
	return i, true
}

// Next reads a row into values, as many as it has. last: there is none behind it. No: the statement is not for it.
func (i *Insert) Next(values []Value) (n int, last, ok bool) {
	i.space()
	if !i.byte('(') {
		return 0, false, false
	}
	for {
		i.space()
		if n == len(values) || !i.literal(&values[n]) {
			return 0, false, false
		}
		n++
		i.space()
		if i.byte(')') {
			break
		}
		if !i.byte(',') {
			return 0, false, false
		}
	}
	i.space()
	if i.byte(',') {
		return n, false, true
	}
	if !i.end() {
		return 0, false, false
	}
	return n, true, true
}
