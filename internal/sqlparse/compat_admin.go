package sqlparse

import (
	"context"
	"strings"
)

// tableAdmin is a statement about tables that answers one row or more for each: Table, Op, Msg_type, Msg_text.
func tableAdmin(op string, rows func(op, name string, t [2]string) string) func(*cursor, context.Context) (string, bool) {
	return func(c *cursor, _ context.Context) (string, bool) {
		if op == "repair" {
			c.acceptAny("NO_WRITE_TO_BINLOG", "LOCAL")
			if !c.accept("TABLE") && !c.accept("TABLES") {
				return "", false
			}
		}
		list, ok := c.tables()
		if !ok {
			return "", false
		}
		for !c.done() { // options: how thorough, none of which makes a difference
			if !c.accept("FOR", "UPGRADE") && !c.acceptAny("QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED", "USE_FRM") {
				return "", false
			}
		}
		var parts []string
		for _, t := range list {
			parts = append(parts, rows(op, fullName(t), t))
		}
		return strings.Join(parts, " UNION ALL "), true
	}
}

// fullName is an expression for database.table as a string.
func fullName(t [2]string) string {
	if t[0] == "" {
		return "CONCAT(DATABASE(), " + quoteString("."+t[1]) + ")"
	}
	return quoteString(t[0] + "." + t[1])
}

// schemaOf is an expression for the database of a table.
func schemaOf(t [2]string) string {
	if t[0] == "" {
		return "DATABASE()"
	}
	return quoteString(t[0])
}

func checkTable(op, name string, t [2]string) string {
	return "SELECT " + name + " AS `Table`, '" + op + "' AS Op, IF(msg = 'OK', 'status', 'Error') AS Msg_type, msg AS Msg_text " +
		"FROM (SELECT hearth_check_table(" + schemaOf(t) + ", " + quoteString(t[1]) + ") AS msg) AS checked"
}

func repairTable(op, name string, t [2]string) string {
	return "SELECT " + name + " AS `Table`, '" + op + "' AS Op, 'note' AS Msg_type, " +
		"'The storage engine for the table doesn''t support repair' AS Msg_text"
}

func checksumTable(c *cursor, _ context.Context) (string, bool) {
	list, ok := c.tables()
	if !ok {
		return "", false
	}
	if c.acceptAny("QUICK", "EXTENDED"); !c.done() {
		return "", false
	}
	var parts []string
	for _, t := range list {
		parts = append(parts, "SELECT "+fullName(t)+" AS `Table`, hearth_checksum_table("+schemaOf(t)+", "+quoteString(t[1])+") AS `Checksum`")
	}
	return strings.Join(parts, " UNION ALL "), true
}

// analyze passes what the grammar does not know: LOCAL, PERSISTENT FOR ALL.
func analyze(c *cursor, _ context.Context) (string, bool) {
	c.acceptAny("NO_WRITE_TO_BINLOG", "LOCAL")
	if !c.accept("TABLE") && !c.accept("TABLES") {
		return "", false
	}
	list, ok := c.tables()
	if !ok {
		return "", false
	}
	if c.accept("PERSISTENT", "FOR", "ALL"); !c.done() {
		return "", false
	}
	var names []string
	for _, t := range list {
		names = append(names, quoteTable(t))
	}
	return "ANALYZE TABLE " + strings.Join(names, ", "), true
}

// flush opens the slow query log again, and accepts what there is nothing to do for. FLUSH TABLES WITH READ LOCK promises that nobody writes until UNLOCK TABLES;
// nothing here can promise that, so it stays refused. So does FOR EXPORT.
func flush(c *cursor, ctx context.Context) (string, bool) {
	c.acceptAny("NO_WRITE_TO_BINLOG", "LOCAL")
	logs := false
	for {
		switch {
		case c.accept("LOGS"), c.accept("SLOW", "LOGS"):
			logs = true
		case c.acceptAny("STATUS", "HOSTS", "USER_RESOURCES", "OPTIMIZER_COSTS", "PRIVILEGES", "DES_KEY_FILE"):
		case c.acceptAny("BINARY", "ENGINE", "ERROR", "GENERAL", "RELAY"):
			if !c.accept("LOGS") {
				return "", false
			}
		case c.accept("QUERY", "CACHE"):
		case c.acceptAny("TABLES", "TABLE"):
			if !c.done() {
				if _, ok := c.tables(); !ok {
					return "", false
				}
			}
		default:
			return "", false
		}
		if !c.accept(",") {
			break
		}
	}
	if !c.done() {
		return "", false
	}
	if logs {
		return "CALL hearth_flush_logs()", true
	}
	return nothing(c, ctx)
}

// do evaluates its expressions and forgets the values. IS NULL keeps the variable small.
func do(c *cursor, _ context.Context) (string, bool) {
	var parts []string
	start := c.i
	for depth := 0; ; c.i++ {
		t := c.at(0)
		last := t.kind == end
		if t.kind == symbol {
			switch c.src[t.start] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		if last || depth == 0 && c.is(0, ",") {
			if c.i == start {
				return "", false
			}
			parts = append(parts, "@hearth_nothing = (("+c.src[c.toks[start].start:c.at(-1).end]+") IS NULL)")
			start = c.i + 1
		}
		if last {
			return "SET " + strings.Join(parts, ", "), true
		}
	}
}

func dropPackage(c *cursor, ctx context.Context) (string, bool) {
	c.accept("BODY")
	if !c.accept("IF", "EXISTS") {
		return "", false
	}
	return nothing(c, ctx)
}

// deleteOptions: priorities of table locks, which there are none of.
func deleteOptions(c *cursor, _ context.Context) (string, bool) {
	for c.acceptAny("LOW_PRIORITY", "QUICK", "IGNORE") {
	}
	return "DELETE " + c.rest(), true
}
