package sqlparse

import (
	"slices"
	"strconv"
	"strings"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// plainTimes takes the length off columns of TIME(n): the grammar reads it and the planner refuses it. Its TIME always has
// microseconds.
func plainTimes(stmt ast.Statement) {
	switch s := stmt.(type) {
	case *ast.DDL:
		if s.TableSpec == nil {
			return
		}
		for _, c := range s.TableSpec.Columns {
			if strings.EqualFold(c.Type.Type, "TIME") {
				c.Type.Length = nil
			}
		}
	case *ast.AlterTable:
		for _, ddl := range s.Statements {
			plainTimes(ddl)
		}
	}
}

// createTable edits the elements and the options of CREATE TABLE.
func createTable(c *cursor, e *edits) {
	c.accept("CREATE")
	c.acceptAny("TEMPORARY")
	if !c.accept("TABLE") {
		return
	}
	c.accept("IF", "NOT", "EXISTS")
	if _, _, ok := c.table(); !ok || !c.is(0, "(") {
		return
	}
	if c.is(1, "LIKE") { // (LIKE t) without the parentheses
		last := c.closing(c.i)
		e.drop(c, c.i, c.i+1)
		e.drop(c, last, last+1)
		return
	}
	last := c.closing(c.i)
	for _, el := range c.elements(c.i+1, last) {
		element(c, e, el[0], el[1])
	}
	tableOptions(c, e, last+1)
}

// elements cuts the tokens [from, to) at the commas outside parentheses.
func (c *cursor) elements(from, to int) (list [][2]int) {
	start, depth := from, 0
	for i := from; i < to; i++ {
		if t := c.toks[i]; t.kind == symbol {
			switch c.src[t.start] {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				if depth == 0 {
					list = append(list, [2]int{start, i})
					start = i + 1
				}
			}
		}
	}
	if start < to {
		list = append(list, [2]int{start, to})
	}
	return list
}

// element edits a column, or an index or constraint: what stands between two commas.
func element(c *cursor, e *edits, from, to int) {
	c.i = from
	for _, w := range []string{"PRIMARY", "KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "CHECK", "FOREIGN"} {
		if c.is(0, w) {
			indexOptions(c, e, from, to)
			return
		}
	}
	if c.is(0, "PERIOD", "FOR") { // of a table with system versioning
		e.drop(c, from, to)
		return
	}
	if from+1 < to {
		columnType(c, e, from+1)
		columnAttributes(c, e, from+2, to)
	}
}

// columnType edits the type of a column, at token i.
func columnType(c *cursor, e *edits, i int) {
	c.i = i
	sized := c.is(1, "(") && c.at(2).kind == number && c.is(3, ")")
	switch {
	case c.is(0, "TEXT") && sized:
		e.replace(c, i, i+4, sizedType(c.text(2), 4, "TEXT"))
	case c.is(0, "BLOB") && sized:
		e.replace(c, i, i+4, sizedType(c.text(2), 1, "BLOB"))
	case c.is(0, "UUID"):
		e.replace(c, i, i+1, "CHAR(36)")
	case c.is(0, "INET6"):
		e.replace(c, i, i+1, "VARCHAR(39)")
	case c.is(0, "INET4"):
		e.replace(c, i, i+1, "VARCHAR(15)")
	case c.is(0, "SERIAL"):
		e.replace(c, i, i+1, "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE")
	case c.is(0, "LONG", "VARCHAR"), c.is(0, "LONG", "CHAR"):
		e.replace(c, i, i+2, "MEDIUMTEXT")
	case c.is(0, "LONG", "VARBINARY"):
		e.replace(c, i, i+2, "MEDIUMBLOB")
	case c.is(0, "CHAR", "BYTE"):
		e.replace(c, i, i+2, "BINARY")
	case c.is(0, "YEAR", "("):
		e.drop(c, i+1, i+4)
	}
}

// sizedType is the smallest of the four types that holds n characters, as MySQL chooses it.
func sizedType(n string, bytesPerCharacter uint64, base string) string {
	length, err := strconv.ParseUint(n, 10, 32)
	if err != nil {
		return "LONG" + base
	}
	switch length *= bytesPerCharacter; {
	case length < 1<<8:
		return "TINY" + base
	case length < 1<<16:
		return base
	case length < 1<<24:
		return "MEDIUM" + base
	}
	return "LONG" + base
}

// columnAttributes edits what follows the type.
func columnAttributes(c *cursor, e *edits, from, to int) {
	depth := 0
	for c.i = from; c.i < to; c.i++ {
		switch start := c.i; {
		case c.is(0, "("):
			depth++
		case c.is(0, ")"):
			depth--
		case depth > 0:
		case c.is(0, "INVISIBLE"), c.is(0, "VISIBLE"): // there are no hidden columns: it would be seen by SELECT *
			e.drop(c, start, start+1)
		case c.is(0, "COLUMN_FORMAT"), c.is(0, "STORAGE"):
			e.drop(c, start, start+2)
		case c.is(0, "PERSISTENT"):
			e.replace(c, start, start+1, "STORED")
		case c.is(0, "REF_SYSTEM_ID", "="), c.is(0, "COMPRESSED", "="):
			e.drop(c, start, start+3)
		case c.is(0, "COMPRESSED"):
			e.drop(c, start, start+1)
		case c.is(0, "WITHOUT", "SYSTEM", "VERSIONING"), c.is(0, "WITH", "SYSTEM", "VERSIONING"):
			e.drop(c, start, start+3)
		case c.is(0, "BINARY") && c.i == from+3: // VARCHAR(n) BINARY: the binary collation of its character set
			e.replace(c, start, start+1, "COLLATE utf8mb4_bin")
		case c.is(0, "DEFAULT") && c.at(1).kind == word && c.is(2, "("): // MariaDB: DEFAULT uuid()
			last := c.closing(start + 2)
			if !isNow(c, 1) && last < to {
				e.insert(c, start, " (")
				e.insert(c, last, ")")
			}
			c.i = last
		case c.is(0, "REFERENCES"): // MySQL reads and ignores it, too
			end := start + 1
			c.i = end
			c.table()
			if end = c.i; c.is(0, "(") {
				end = c.closing(c.i) + 1
			}
			c.i = end
			for c.i < to {
				if !c.accept("MATCH", "FULL") && !c.accept("MATCH", "PARTIAL") && !c.accept("MATCH", "SIMPLE") && !c.referenceAction() {
					break
				}
			}
			e.drop(c, start, c.i)
			c.i--
		}
	}
}

// isNow: a function that may be a default without parentheses.
func isNow(c *cursor, k int) bool {
	return c.is(k, "CURRENT_TIMESTAMP") || c.is(k, "NOW") || c.is(k, "LOCALTIME") || c.is(k, "LOCALTIMESTAMP")
}

// referenceAction passes ON DELETE ... and ON UPDATE ...
func (c *cursor) referenceAction() bool {
	if !c.is(0, "ON", "DELETE") && !c.is(0, "ON", "UPDATE") {
		return false
	}
	start := c.i
	c.i += 2
	if c.acceptAny("CASCADE", "RESTRICT") || c.accept("SET", "NULL") || c.accept("SET", "DEFAULT") || c.accept("NO", "ACTION") {
		return true
	}
	c.i = start
	return false
}

// indexOptions leaves out the options of an index that say nothing here: its kind is what it is.
func indexOptions(c *cursor, e *edits, from, to int) {
	depth := 0
	for c.i = from; c.i < to; c.i++ {
		switch start := c.i; {
		case c.is(0, "("):
			depth++
		case c.is(0, ")"):
			depth--
		case depth > 0:
		case c.is(0, "USING"):
			e.drop(c, start, start+2)
		case c.is(0, "KEY_BLOCK_SIZE", "="), c.is(0, "WITH", "PARSER"):
			e.drop(c, start, start+3)
		case c.is(0, "KEY_BLOCK_SIZE"):
			e.drop(c, start, start+2)
		case c.is(0, "NOT", "IGNORED"):
			e.drop(c, start, start+2)
		case c.is(0, "IGNORED"), c.is(0, "INVISIBLE"), c.is(0, "VISIBLE"):
			e.drop(c, start, start+1)
		case c.is(0, "MATCH", "FULL"), c.is(0, "MATCH", "PARTIAL"), c.is(0, "MATCH", "SIMPLE"):
			e.drop(c, start, start+2)
		}
	}
}

// isKeptOption: an option of a table that means something to the planner, or ENGINE, of which it does not mind.
func (c *cursor) isKeptOption() bool {
	k := 0
	if c.is(0, "DEFAULT") {
		k = 1
	}
	return slices.ContainsFunc([]string{"ENGINE", "AUTO_INCREMENT", "COMMENT", "CHARSET", "COLLATE", "CHARACTER"},
		func(w string) bool { return c.is(k, w) })
}

// tableOptions leaves out options that say nothing here, and PARTITION BY, which the planner reads and forgets when it can.
func tableOptions(c *cursor, e *edits, from int) {
	for c.i = from; !c.done(); {
		start := c.i
		switch {
		case c.accept(","):
		case c.is(0, "PARTITION", "BY"):
			end := c.partitioning()
			e.drop(c, start, end)
			c.i = end
		case c.is(0, "AS"), c.is(0, "SELECT"), c.is(0, "IGNORE"), c.is(0, "REPLACE"), c.is(0, "WITH") && !c.is(1, "SYSTEM"), c.is(0, "("):
			return
		case c.accept("WITH", "SYSTEM", "VERSIONING"):
			e.drop(c, start, c.i)
		case c.isKeptOption():
			c.accept("DEFAULT")
			if !c.accept("CHARACTER", "SET") {
				c.i++
			}
			c.accept("=")
			c.i++
		default:
			c.accept("DEFAULT")
			c.i++
			c.acceptAny("DIRECTORY")
			c.accept("=")
			if c.is(0, "(") {
				c.i = c.closing(c.i)
			}
			value := c.i
			c.i++
			if c.at(0).kind == number && c.toks[value].end == c.at(0).start { // 4M
				c.i++
			}
			if c.is(start-c.i, "TABLESPACE") && c.accept("STORAGE") {
				c.i++
			}
			c.accept(",")
			e.drop(c, start, min(c.i, len(c.toks)-1))
		}
	}
}

// partitioning returns the end of PARTITION BY: that of the statement, or the SELECT it is filled from.
func (c *cursor) partitioning() int {
	depth := 0
	for i := c.i; i < len(c.toks)-1; i++ {
		k := i - c.i
		switch {
		case c.is(k, "("):
			depth++
		case c.is(k, ")"):
			depth--
		case depth == 0 && (c.is(k, "AS") || c.is(k, "SELECT")):
			return i
		}
	}
	return len(c.toks) - 1
}

// alterTable edits the actions of ALTER TABLE.
func alterTable(c *cursor, e *edits) {
	c.accept("ALTER")
	for start := c.i; c.acceptAny("ONLINE", "OFFLINE", "IGNORE"); start = c.i {
		e.drop(c, start, c.i)
	}
	if !c.accept("TABLE") {
		return
	}
	if _, _, ok := c.table(); !ok {
		return
	}
	switch start := c.i; {
	case c.accept("NOWAIT"):
		e.drop(c, start, c.i)
	case c.is(0, "WAIT") && c.at(1).kind == number:
		c.i += 2
		e.drop(c, start, c.i)
	}
	last := len(c.toks) - 1
	for n, action := range c.elements(c.i, last) {
		c.i = action[0]
		to := action[1]
		switch {
		case c.is(0, "ORDER", "BY"): // rows lie in the order of the primary key; everything behind belongs to it
			from := action[0]
			if n > 0 {
				from-- // the comma
			} else {
				e.replace(c, from, last, "COMMENT ''")
				return
			}
			e.drop(c, from, last)
			return
		case c.accept("ADD"):
			c.accept("COLUMN")
			if c.is(0, "(") {
				addColumns(c, e, action[0], to)
				continue
			}
			element(c, e, c.i, to)
		case c.accept("MODIFY"):
			c.accept("COLUMN")
			element(c, e, c.i, to)
		case c.accept("CHANGE"):
			c.accept("COLUMN")
			element(c, e, c.i+1, to)
		case c.is(0, "ALTER", "INDEX"): // VISIBLE, INVISIBLE, IGNORED
		}
	}
}

// addColumns: ADD COLUMN (a INT, b INT) is ADD COLUMN a INT, ADD COLUMN b INT.
func addColumns(c *cursor, e *edits, from, to int) {
	open := c.i
	last := c.closing(open)
	if last != to-1 {
		return
	}
	e.drop(c, open, open+1)
	e.drop(c, last, last+1)
	for n, el := range c.elements(open+1, last) {
		if n > 0 {
			e.insert(c, el[0]-1, " ADD COLUMN ")
		}
		element(c, e, el[0], el[1])
	}
}
