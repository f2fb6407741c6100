package sqlparse

import (
	"context"
	"slices"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// clause is a part of a statement that the grammar does not know.
type clause struct {
	in     string // the statements it is looked for in, by first word; empty: all
	reason string
	// edit notes what is to be replaced. The cursor stands at the first token.
	edit func(c *cursor, e *edits)
}

// clauses is the table of parts of statements that are rewritten or left out. They are tried together, and only when the grammar
// has refused the statement as it is: a statement may have several of them.
var clauses = []clause{
	{"", "FOR SHARE, NOWAIT, SKIP LOCKED, OF: becomes a mark at the SELECT", lockClauses},
	{"", "= ANY (SELECT ...) is IN, <> ALL is NOT IN", quantified},
	{"", "{d '...'}, {t '...'}, {ts '...'}, {fn ...}: literals and calls as ODBC and JDBC write them", escapes},
	{"", "ROW(a, b) is (a, b)", rowConstructor},
	{"", "IS UNKNOWN is IS NULL", isUnknown},
	{"", "INTERVAL(n, a, b, ...), the function: a keyword to the grammar", intervalFunction},
	{"", "index hints: KEY is INDEX, PRIMARY is a keyword to the grammar; no list, and FOR JOIN and such, say nothing to the planner", indexHints},
	{"SELECT", "options without meaning here: HIGH_PRIORITY, SQL_BUFFER_RESULT, SQL_SMALL_RESULT, SQL_BIG_RESULT", dropWords(
		"HIGH_PRIORITY", "SQL_BUFFER_RESULT", "SQL_SMALL_RESULT", "SQL_BIG_RESULT", "SQL_CACHE")},
	{"INSERT", "priorities of table locks, which there are none of", dropWords("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED")},
	{"REPLACE", "priorities of table locks, which there are none of", dropWords("LOW_PRIORITY", "DELAYED")},
	{"UPDATE", "priorities of table locks, which there are none of", dropWords("LOW_PRIORITY")},
	{"DELETE", "an alias in the form for one table", deleteAlias},
	{"LOAD", "priorities of table locks, which there are none of", dropWords("LOW_PRIORITY", "CONCURRENT")},
	{"CREATE", "types, attributes and options of tables; see ddl.go", createTable},
	{"CREATE", "ALGORITHM and LOCK of an index: it is built as it is built", indexAlgorithm},
	{"DROP", "ALGORITHM and LOCK of an index: it goes at once", indexAlgorithm},
	{"CREATE", "DEFINER = CURRENT_USER is what holds without it", definer},
	{"CREATE", "character sets of parameters: strings are what they are", parameterCharset},
	{"CREATE", "the comment of a database is kept nowhere", databaseComment},
	{"CREATE", "passwords as MariaDB writes them: IDENTIFIED BY PASSWORD 'hash', IDENTIFIED VIA plugin USING 'hash'", hashedPassword},
	{"ALTER", "types, attributes and options of tables; see ddl.go", alterTable},
	{"ALTER", "passwords as MariaDB writes them", hashedPassword},
}

// edits collects what is to be replaced in the text of a cursor.
type edits struct{ list []edit }

// drop leaves out the tokens [from, to).
func (e *edits) drop(c *cursor, from, to int) { e.replace(c, from, to, " ") }

// replace puts text in the place of the tokens [from, to).
func (e *edits) replace(c *cursor, from, to int, text string) {
	if from < to {
		e.list = append(e.list, edit{c.toks[from].start, c.toks[to-1].end, text})
	}
}

// insert puts text behind token i.
func (e *edits) insert(c *cursor, i int, text string) {
	e.list = append(e.list, edit{c.toks[i].end, c.toks[i].end, text})
}

// rewriteClauses tries the clauses on the statement of the cursor. The text of the statement stays what it was: stored
// programs are kept as they came, and are rewritten again when they are read.
func (p *parsed) rewriteClauses(ctx context.Context, c *cursor, o ast.ParserOptions) bool {
	var e edits
	for i := range clauses {
		c.i = 0
		if cl := &clauses[i]; cl.in == "" || c.is(0, cl.in) {
			cl.edit(c, &e)
		}
	}
	if len(e.list) == 0 {
		return false
	}
	slices.SortStableFunc(e.list, func(a, b edit) int { return a.start - b.start })
	for i := 1; i < len(e.list); i++ { // what lies within something replaced is replaced with it
		if e.list[i].start < e.list[i-1].end {
			e.list = slices.Delete(e.list, i, i+1)
			i--
		}
	}
	q := scanned{src: c.src, end: len(c.src), edits: e.list}
	stmt, err := grammar(ctx, q.text(), o)
	if err != nil {
		return false
	}
	if ddl, ok := stmt.(*ast.DDL); ok && ddl.SubStatementPositionEnd > 0 {
		ddl.SubStatementPositionStart = q.source(ddl.SubStatementPositionStart)
		ddl.SubStatementPositionEnd = q.source(ddl.SubStatementPositionEnd)
	}
	p.stmt = stmt
	return true
}

// dropWords leaves out words that stand between the first word and a name or a list.
func dropWords(words ...string) func(*cursor, *edits) {
	return func(c *cursor, e *edits) {
		for c.i++; c.at(0).kind == word; c.i++ {
			switch {
			case slices.ContainsFunc(words, func(w string) bool { return c.is(0, w) }):
				e.drop(c, c.i, c.i+1)
			case c.is(0, "INTO"), c.is(0, "FROM"), c.is(0, "DATA"), c.is(0, "LOCAL"), c.is(0, "DISTINCT"), c.is(0, "ALL"),
				c.is(0, "STRAIGHT_JOIN"), c.is(0, "SQL_NO_CACHE"), c.is(0, "SQL_CALC_FOUND_ROWS"), c.is(0, "IGNORE"):
			default:
				return
			}
		}
	}
}

// lockClauses cuts FOR UPDATE|SHARE [OF t, ...] [NOWAIT | SKIP LOCKED | WAIT n] and LOCK IN SHARE MODE with these, and marks
// the SELECT it belongs to. OF names tables that are to be locked; all of the SELECT's are.
func lockClauses(c *cursor, e *edits) {
	selects := []int{-1} // the last SELECT of each level of parentheses
	marks := map[int]lockMark{}
	var order []int
	for ; !c.done(); c.i++ {
		t := c.at(0)
		top := len(selects) - 1
		switch {
		case t.kind == symbol && c.src[t.start] == '(':
			selects = append(selects, -1)
		case t.kind == symbol && c.src[t.start] == ')':
			selects = selects[:max(top, 1)]
		case t.kind == symbol && c.src[t.start] == ';':
			selects[top] = -1
		case c.is(0, "SELECT"):
			selects[top] = c.i
		case selects[top] >= 0:
			start := c.i
			m, ok := c.lockClause()
			if !ok {
				c.i = start
				continue
			}
			s := selects[top]
			if had, twice := marks[s]; !twice {
				order = append(order, s)
			} else if had.strength == exclusive {
				m.strength = exclusive
			}
			marks[s] = m
			e.drop(c, start, c.i)
			c.i--
		}
	}
	for _, s := range order {
		e.insert(c, s, " "+marks[s].String()+" ")
	}
}

// lockClause passes one locking clause.
func (c *cursor) lockClause() (m lockMark, ok bool) {
	switch {
	case c.accept("FOR", "UPDATE"):
		m.strength = exclusive
	case c.accept("FOR", "SHARE"), c.accept("LOCK", "IN", "SHARE", "MODE"):
		m.strength = share
	default:
		return m, false
	}
	if c.accept("OF") {
		if _, ok := c.tables(); !ok {
			return m, false
		}
	}
	switch {
	case c.accept("NOWAIT"):
		m.wait = noWait
	case c.accept("SKIP", "LOCKED"):
		m.wait = skip
	case c.is(0, "WAIT") && c.at(1).kind == number:
		c.i += 2
	}
	return m, true
}

// quantified: = ANY and = SOME are IN, <> ALL and != ALL are NOT IN. The others have no such form.
func quantified(c *cursor, e *edits) {
	for ; !c.done(); c.i++ {
		switch {
		case c.is(0, "=", "ANY", "("), c.is(0, "=", "SOME", "("):
			if before := c.text(-1); before != "<" && before != ">" && before != "!" && before != ":" {
				e.replace(c, c.i, c.i+2, " IN ")
			}
		case c.is(0, "<", ">", "ALL", "("), c.is(0, "!", "=", "ALL", "("):
			e.replace(c, c.i, c.i+3, " NOT IN ")
		}
	}
}

func escapes(c *cursor, e *edits) {
	var open []bool // of the braces: an escape
	for ; !c.done(); c.i++ {
		switch {
		case c.is(0, "{"):
			with := ""
			switch {
			case c.is(1, "d"):
				with = "DATE "
			case c.is(1, "t"):
				with = "TIME "
			case c.is(1, "ts"):
				with = "TIMESTAMP "
			case c.is(1, "fn"), c.is(1, "oj"):
				with = " "
			}
			if open = append(open, with != ""); with != "" {
				e.replace(c, c.i, c.i+2, with)
			}
		case c.is(0, "}") && len(open) > 0:
			if open[len(open)-1] {
				e.drop(c, c.i, c.i+1)
			}
			open = open[:len(open)-1]
		}
	}
}

// rowConstructor leaves the rows of VALUES alone: there the word belongs to the grammar.
func rowConstructor(c *cursor, e *edits) {
	values := false
	for ; !c.done(); c.i++ {
		if c.is(0, "VALUES", "ROW") {
			values = true
		}
		if c.is(0, "ROW", "(") && !values {
			e.drop(c, c.i, c.i+1)
		}
	}
}

func isUnknown(c *cursor, e *edits) {
	for ; !c.done(); c.i++ {
		if c.is(0, "UNKNOWN") && (c.is(-1, "IS") || c.is(-2, "IS", "NOT")) {
			e.replace(c, c.i, c.i+1, "NULL")
		}
	}
}

func indexHints(c *cursor, e *edits) {
	for ; !c.done(); c.i++ {
		if !c.is(0, "INDEX") && !c.is(0, "KEY") || !c.is(-1, "USE") && !c.is(-1, "FORCE") && !c.is(-1, "IGNORE") {
			continue
		}
		start := c.i - 1
		if c.is(0, "KEY") {
			e.replace(c, c.i, c.i+1, "INDEX")
		}
		c.i++
		if c.is(0, "FOR") {
			from := c.i
			c.i++
			if !c.accept("JOIN") && !c.accept("ORDER", "BY") && !c.accept("GROUP", "BY") {
				return
			}
			e.drop(c, from, c.i)
		}
		if !c.is(0, "(") {
			return
		}
		if c.is(1, ")") {
			e.drop(c, start, c.i+2)
			continue
		}
		for last := c.closing(c.i); c.i < last; c.i++ {
			if c.is(0, "PRIMARY") {
				e.replace(c, c.i, c.i+1, "`PRIMARY`")
			}
		}
	}
}

// deleteAlias: DELETE FROM t AS a WHERE ... is DELETE a FROM t AS a WHERE ..., which knows no ORDER BY and LIMIT.
func deleteAlias(c *cursor, e *edits) {
	if !c.accept("DELETE") {
		return
	}
	c.acceptAny("LOW_PRIORITY", "QUICK", "IGNORE")
	from := c.i
	if !c.accept("FROM") {
		return
	}
	if _, _, ok := c.table(); !ok {
		return
	}
	c.accept("AS")
	alias, ok := c.name()
	if !ok || !c.done() && !c.is(0, "WHERE") {
		return
	}
	e.insert(c, from-1, " "+quoteID(alias)+" ")
}

// indexAlgorithm is about CREATE INDEX and DROP INDEX.
func indexAlgorithm(c *cursor, e *edits) {
	isIndex := false
	for ; !c.done(); c.i++ {
		switch {
		case c.is(0, "TABLE"), c.is(0, "VIEW"), c.is(0, "AS"):
			return
		case c.is(0, "INDEX"):
			isIndex = true
		case isIndex && (c.is(0, "ALGORITHM") || c.is(0, "LOCK")):
			n := 2
			if c.is(1, "=") {
				n = 3
			}
			e.drop(c, c.i, c.i+n)
		}
	}
}

func definer(c *cursor, e *edits) {
	for ; !c.done() && c.i < 20; c.i++ {
		if start := c.i; c.accept("DEFINER", "=", "CURRENT_USER") {
			c.accept("(", ")")
			e.drop(c, start, c.i)
			return
		}
	}
}

func databaseComment(c *cursor, e *edits) {
	if !c.is(1, "DATABASE") && !c.is(1, "SCHEMA") {
		return
	}
	for ; !c.done(); c.i++ {
		if start := c.i; c.accept("COMMENT") {
			c.accept("=")
			if _, ok := c.literal(); ok {
				e.drop(c, start, c.i)
				return
			}
		}
	}
}

func hashedPassword(c *cursor, e *edits) {
	if !c.is(1, "USER") {
		return
	}
	for ; !c.done(); c.i++ {
		switch start := c.i; {
		case c.accept("IDENTIFIED", "BY", "PASSWORD"):
			e.replace(c, start, c.i, "IDENTIFIED WITH mysql_native_password AS")
			c.i--
		case c.accept("IDENTIFIED", "VIA"):
			plugin, ok := c.name()
			if !ok || !c.accept("USING") && !c.accept("AS") {
				return
			}
			e.replace(c, start, c.i, "IDENTIFIED WITH "+plugin+" AS")
			c.i--
		}
	}
}

// intervalFunction tells INTERVAL(1, 2, 3) from INTERVAL (1) DAY by the commas.
func intervalFunction(c *cursor, e *edits) {
	for ; !c.done(); c.i++ {
		if c.is(0, "INTERVAL", "(") && len(c.elements(c.i+2, c.closing(c.i+1))) > 1 {
			e.replace(c, c.i, c.i+1, "`interval`")
		}
	}
}

// parameterCharset leaves out CHARACTER SET and COLLATE in the parameters of a procedure.
func parameterCharset(c *cursor, e *edits) {
	for ; !c.accept("PROCEDURE"); c.i++ {
		if c.done() || c.i > 20 {
			return
		}
	}
	if _, _, ok := c.table(); !ok || !c.is(0, "(") {
		return
	}
	for last := c.closing(c.i); c.i < last; c.i++ {
		switch start := c.i; {
		case c.accept("CHARACTER", "SET"), c.acceptAny("CHARSET", "COLLATE"):
			e.drop(c, start, c.i+1)
		}
	}
}
