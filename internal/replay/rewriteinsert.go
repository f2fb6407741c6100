package replay

import (
	"slices"
	"strconv"
	"strings"
)

// insert: INSERT or REPLACE of VALUES, of SET, of a SELECT, with or without ON DUPLICATE KEY UPDATE.
func (w *rewriting) insert(replaces bool) error {
	for w.take("low_priority", "delayed", "high_priority", "ignore") {
	}
	w.take("into")
	schema, name, ok := w.tableName()
	if !ok {
		return unable("not understood")
	}
	t, err := w.find(reference{schema: schema, table: name})
	if err != nil {
		return err
	}
	if w.take("partition") {
		w.skipParens()
	}
	var columns []string
	if w.atPunct('(') && !(w.i+1 < len(w.toks) && (isWord(w.s, w.toks[w.i+1], "select") || isWord(w.s, w.toks[w.i+1], "with"))) {
		inner, ok := w.inParens()
		if !ok {
			return unable("columns not understood")
		}
		for _, c := range w.split(inner) {
			if len(c) > 0 {
				columns = append(columns, unquote(w.s, c[len(c)-1]))
			}
		}
	}
	var rows []map[string][]token
	switch {
	case w.at("select") || w.at("with") || w.at("table") || w.atPunct('('):
		from := w.i
		for !w.done() && !w.duplicate() && !w.at("returning") {
			if !w.skipParens() {
				w.i++
			}
		}
		w.landings(t, columns, w.with+w.slice(w.toks[from:w.i]))
		return nil
	case w.take("set"):
		row := map[string][]token{}
		for _, a := range w.split(w.until("on", "as", "returning")) {
			c := cursor{s: w.s, toks: a}
			_, column, ok := c.tableName()
			if !ok || !c.atPunct('=') {
				return unable("assignment not understood")
			}
			row[strings.ToLower(column)] = a[c.i+1:]
		}
		rows = append(rows, row)
	case w.take("values", "value"):
		if columns == nil {
			for _, c := range t.Columns {
				columns = append(columns, c.Name)
			}
		}
		if rows, err = w.rows(columns); err != nil {
			return err
		}
	default:
		return unable("not understood")
	}
	var updates []set
	w.until("on", "returning")
	if w.duplicate() {
		w.until("update")
		w.take("update")
		for _, a := range w.split(w.until("returning")) {
			c := cursor{s: w.s, toks: a}
			_, column, ok := c.tableName()
			if col := t.column(column); ok && col != nil && c.atPunct('=') {
				updates = append(updates, set{col.Name, w.overRow(a[c.i+1:])})
			}
		}
	}
	w.probeRows(t, rows)
	if replaces || len(updates) > 0 {
		return w.existing(t, rows, updates, replaces)
	}
	return nil
}

// maxLandings bounds the indexes that are looked at for each row of an INSERT ... SELECT: a server joins some 60 tables, at most.
const maxLandings = 30

// landings reads what an INSERT ... SELECT selects, and for each row of it the leaf of every index where it would land.
func (w *rewriting) landings(t *Table, columns []string, query string) {
	if columns == nil {
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
	}
	// A union has the names of its first part: so columns get names without knowing what the query calls them.
	names, at := make([]string, len(columns)), map[string]string{}
	for i, c := range columns {
		n := "h" + strconv.Itoa(i)
		names[i] = "NULL AS " + n
		at[strings.ToLower(c)] = "o." + n
	}
	value := func(name string) string {
		c := t.column(name)
		if c == nil || c.Generated {
			return ""
		}
		if v, given := at[strings.ToLower(name)]; given {
			return c.as(v)
		}
		if c.AutoIncrement {
			return ""
		}
		return c.Default // "" for NULL, which ends what is known of the place
	}
	self := quoteName(t.Schema) + "." + quoteName(t.Name)
	var joins, reads []string
	for _, x := range t.Indexes {
		if len(joins) >= maxLandings {
			break
		}
		n := "p" + strconv.Itoa(len(joins))
		var on []string
		for _, name := range slices.Concat(x.Columns, slices.DeleteFunc(slices.Clone(t.primaryColumns()), func(c string) bool { return x.Unique || x.has(c) })) {
			v := value(name)
			if v == "" {
				break
			}
			on = append(on, n+"."+quoteName(name)+" = "+v)
		}
		first := t.column(x.Columns[0])
		switch {
		case len(on) > 0:
			joins = append(joins, " LEFT JOIN "+self+" AS "+n+" FORCE INDEX ("+quoteName(x.Name)+") ON "+strings.Join(on, " AND "))
			reads = append(reads, n+"."+quoteName(x.Columns[0]))
		case first != nil && first.AutoIncrement: // the next value is not known, but where it goes is
			w.out = append(w.out, "SELECT "+quoteName(first.Name)+" FROM "+self+" FORCE INDEX ("+quoteName(x.Name)+") ORDER BY "+quoteName(first.Name)+" DESC LIMIT 1")
		}
	}
	if len(joins) == 0 {
		w.out = append(w.out, query)
		return
	}
	w.out = append(w.out, "SELECT "+strings.Join(reads, ", ")+" FROM (SELECT "+strings.Join(names, ", ")+" FROM DUAL WHERE 0 UNION ALL ("+query+")) AS o"+strings.Join(joins, ""))
}

// duplicate: ON DUPLICATE KEY is next.
func (w *rewriting) duplicate() bool {
	return w.at("on") && w.i+1 < len(w.toks) && isWord(w.s, w.toks[w.i+1], "duplicate")
}

// rows reads VALUES (...), ROW (...), ...
func (w *rewriting) rows(columns []string) (rows []map[string][]token, err error) {
	for {
		w.take("row")
		inner, ok := w.inParens()
		if !ok {
			return nil, unable("values not understood")
		}
		row := make(map[string][]token, len(columns))
		if len(inner) > 0 {
			values := w.split(inner)
			if len(values) != len(columns) {
				return nil, unable("values and columns differ")
			}
			for i, v := range values {
				row[strings.ToLower(columns[i])] = v
			}
		}
		rows = append(rows, row)
		if !w.atPunct(',') {
			return rows, nil
		}
		w.i++
	}
}

// probeRows looks at the leaf of every index where each row would land, and at the parents of its foreign keys.
func (w *rewriting) probeRows(t *Table, rows []map[string][]token) {
	var probes []string
	self := quoteName(t.Schema) + "." + quoteName(t.Name)
	edge := false
	for n, row := range rows {
		if len(probes) >= maxProbes {
			break
		}
		for _, x := range t.Indexes {
			conds := w.equal(t, x.Columns, row, n, "")
			if len(conds) == 0 {
				if c := t.column(x.Columns[0]); c != nil && c.AutoIncrement && !edge {
					edge = true // the next value is not known, but where it goes is
					probes = append(probes, "SELECT "+quoteName(c.Name)+" FROM "+self+" FORCE INDEX ("+quoteName(x.Name)+") ORDER BY "+
						quoteName(c.Name)+" DESC LIMIT 1")
				}
				continue
			}
			if len(conds) == len(x.Columns) && !x.Unique {
				rest := slices.DeleteFunc(slices.Clone(t.primaryColumns()), x.has)
				if more := w.equal(t, rest, row, n, ""); len(more) == len(rest) {
					conds = append(conds, more...)
				}
			}
			probes = append(probes, "SELECT 1 FROM "+self+" FORCE INDEX ("+quoteName(x.Name)+") WHERE "+strings.Join(conds, " AND ")+" LIMIT 1")
		}
		for _, f := range t.Parents {
			conds := w.equal(t, f.ChildColumns, row, n, "")
			if len(conds) != len(f.ChildColumns) || slices.ContainsFunc(conds, func(c string) bool { return strings.HasSuffix(c, " IS NULL") }) {
				continue
			}
			for i := range conds {
				conds[i] = quoteName(f.ParentColumn[i]) + strings.TrimPrefix(conds[i], quoteName(f.ChildColumns[i]))
			}
			probes = append(probes, "SELECT 1 FROM "+quoteName(f.ParentSchema)+"."+quoteName(f.ParentTable)+" WHERE "+strings.Join(conds, " AND ")+" LIMIT 1")
		}
	}
	for batch := range slices.Chunk(probes, maxBatch) {
		if len(batch) == 1 {
			w.out = append(w.out, batch[0])
			continue
		}
		w.out = append(w.out, "("+strings.Join(batch, ") UNION ALL (")+")")
	}
}

// overRow is the expression of ON DUPLICATE KEY UPDATE if it speaks of the row that is there only; else none: the place of a
// value that comes from the new row was probed with it.
func (w *rewriting) overRow(expr []token) []token {
	for i, t := range expr {
		if called(w.s, expr, i) && (isWord(w.s, t, "values") || isWord(w.s, t, "value")) || t.kind == punct && w.s[t.start] == '.' {
			return nil
		}
	}
	return expr
}

// existing reads the rows that are there already under a unique key, with what changes of them.
func (w *rewriting) existing(t *Table, rows []map[string][]token, updates []set, gone bool) error {
	for _, x := range t.Indexes {
		if !x.Unique {
			continue
		}
		var any []string
		for n, row := range rows {
			conds := w.equal(t, x.Columns, row, n, "t.")
			if len(conds) == len(x.Columns) && !slices.ContainsFunc(conds, func(c string) bool { return strings.HasSuffix(c, " IS NULL") }) {
				any = append(any, "("+strings.Join(conds, " AND ")+")")
			}
			if len(any) >= maxProbes {
				break
			}
		}
		for batch := range slices.Chunk(any, maxBatch) {
			from := "FROM " + quoteName(t.Schema) + "." + quoteName(t.Name) + " AS t FORCE INDEX (" + quoteName(x.Name) + ") WHERE " + strings.Join(batch, " OR ")
			if err := w.changeRows(t, "t", from, updates, gone); err != nil {
				return err
			}
		}
	}
	return nil
}

// equal makes conditions for the leading columns whose values in the row are known.
func (w *rewriting) equal(t *Table, columns []string, row map[string][]token, n int, prefix string) (conds []string) {
	for _, name := range columns {
		c := t.column(name)
		if c == nil {
			return conds
		}
		v, ok := w.valueOf(c, row, n)
		if !ok {
			return conds
		}
		if v == "" {
			conds = append(conds, prefix+quoteName(c.Name)+" IS NULL")
		} else {
			conds = append(conds, prefix+quoteName(c.Name)+" = "+v)
		}
	}
	return conds
}

// valueOf is what the n-th row has in a column, as SQL; "" for NULL.
func (w *rewriting) valueOf(c *Column, row map[string][]token, n int) (v string, ok bool) {
	toks, given := row[strings.ToLower(c.Name)]
	if c.Generated {
		return "", false
	}
	isDefault := !given || (len(toks) > 0 && isWord(w.s, toks[0], "default"))
	isNull := len(toks) == 1 && (isWord(w.s, toks[0], "null") || w.slice(toks) == `\N`)
	isZero := len(toks) == 1 && w.slice(toks) == "0"
	switch {
	case c.AutoIncrement && (isDefault || isNull || isZero):
		if w.InsertID == 0 {
			return "", false
		}
		return strconv.FormatUint(w.InsertID+uint64(n), 10), true
	case isDefault:
		return c.Default, c.Default != "" || c.Nullable
	case isNull:
		return "", true
	}
	return w.constant(c, toks)
}

// constantWords may stand in an expression of constants.
var constantWords = map[string]bool{
	"true": true, "false": true, "null": true, "interval": true, "and": true, "or": true, "not": true, "div": true, "mod": true, "as": true,
	"case": true, "when": true, "then": true, "else": true, "end": true, "is": true, "using": true, "from": true, "for": true,
	"microsecond": true, "second": true, "minute": true, "hour": true, "day": true, "week": true, "month": true, "quarter": true, "year": true,
	"current_timestamp": true, "current_date": true, "current_time": true, "localtime": true, "localtimestamp": true, "utc_timestamp": true,
	"utc_date": true, "utc_time": true, "char": true, "signed": true, "unsigned": true, "decimal": true, "date": true, "datetime": true, "time": true,
	"binary": true, "timestamp": true, "n": true, "x": true, "b": true, "collate": true, "leading": true, "trailing": true, "both": true,
}

// unrepeatable functions have another value each time.
var unrepeatable = map[string]bool{
	"rand": true, "uuid": true, "uuid_short": true, "random_bytes": true, "found_rows": true, "row_count": true, "connection_id": true,
}

// constant is an expression of constants as SQL of a type that an index of the column can be searched with.
func (w *rewriting) constant(c *Column, toks []token) (string, bool) {
	if len(toks) == 0 {
		return "", false
	}
	literal := true
	var b strings.Builder
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if i > 0 && t.start > toks[i-1].end {
			b.WriteByte(' ')
		}
		switch t.kind {
		case variable, quoted, hint:
			return "", false
		case word:
			low := strings.ToLower(string(w.s[t.start:t.end]))
			isCall := called(w.s, toks, i)
			switch {
			case low == "last_insert_id" && isCall && i+2 < len(toks) && w.s[toks[i+2].start] == ')':
				if w.LastInsertID == 0 {
					return "", false
				}
				b.WriteString(strconv.FormatUint(w.LastInsertID, 10))
				i += 2
				literal = literal && len(toks) == 3
				continue
			case isCall && roles[low] == pure && !unrepeatable[low]:
				literal = false
			case isCall && constantWords[low]:
				literal = false
			case strings.HasPrefix(low, "0x") || strings.HasPrefix(low, "0b"):
			case strings.HasPrefix(low, "_") && i+1 < len(toks): // introducer
			case constantWords[low]:
				literal = literal && (len(toks) == 1 || (i == 0 && len(toks) == 2 && toks[1].kind == text))
			default:
				return "", false
			}
		case punct:
			literal = literal && i == 0 && (w.s[t.start] == '-' || w.s[t.start] == '+')
		}
		b.Write(w.s[t.start:t.end])
	}
	v := b.String()
	onlyNumber := toks[len(toks)-1].kind == number || strings.Trim(v, "0123456789") == ""
	switch {
	case literal && c.isString() && onlyNumber:
		return "'" + v + "'", true
	case literal:
		return v, true
	case c.isString():
		return "CONCAT(" + v + ", '')", true
	}
	return "(" + v + ")", true
}

// scalar is the new value of a column in an UPDATE, as an expression over the row, of the column's type.
func (w *rewriting) scalar(c *Column, toks []token) (string, bool) {
	if len(toks) == 0 || (len(toks) == 1 && isWord(w.s, toks[0], "default")) {
		return "", false
	}
	for i, t := range toks {
		low := ""
		if t.kind == word {
			low = strings.ToLower(string(w.s[t.start:t.end]))
		}
		if t.kind == variable || low == "select" || (unrepeatable[low] && called(w.s, toks, i)) || low == "last_insert_id" {
			return "", false
		}
	}
	return c.as(w.slice(toks)), true
}
