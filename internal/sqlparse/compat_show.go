package sqlparse

import (
	"context"
	"strings"
)

// showEngine: SHOW ENGINE name STATUS. MUTEX and LOGS have nothing to say.
func showEngine(c *cursor, _ context.Context) (string, bool) {
	name, ok := c.name()
	if !ok {
		return "", false
	}
	switch {
	case strings.EqualFold(name, "INNODB"), strings.EqualFold(name, "HEARTH"), strings.EqualFold(name, "ALL"):
	default:
		return "", false
	}
	const columns = "SELECT `Type`, `Name`, `Status` FROM information_schema.hearth_engine_status"
	switch {
	case c.accept("STATUS") && c.done():
		return columns, true
	case c.acceptAny("MUTEX", "LOGS") && c.done():
		return columns + " WHERE FALSE", true
	}
	return "", false
}

func showOpenTables(c *cursor, _ context.Context) (string, bool) {
	const from = "SELECT `Database`, `Table`, In_use, Name_locked FROM (SELECT table_schema AS `Database`, table_name AS `Table`, " +
		"0 AS In_use, 0 AS Name_locked FROM information_schema.tables WHERE table_type = 'BASE TABLE') AS open_tables"
	var where []string
	if c.acceptAny("FROM", "IN") {
		db, ok := c.name()
		if !ok {
			return "", false
		}
		where = append(where, "`Database` = "+quoteString(db))
	}
	switch {
	case c.accept("LIKE"):
		pattern, ok := c.literal()
		if !ok || !c.done() {
			return "", false
		}
		where = append(where, "`Table` LIKE "+pattern)
	case c.accept("WHERE"):
		where = append(where, "("+c.rest()+")")
	case !c.done():
		return "", false
	}
	if len(where) == 0 {
		return from, true
	}
	return from + " WHERE " + strings.Join(where, " AND "), true
}

func showErrors(c *cursor, _ context.Context) (string, bool) {
	if !c.done() && !c.is(0, "LIMIT") {
		return "", false
	}
	return "SELECT '' AS Level, 0 AS Code, '' AS Message FROM dual WHERE FALSE", true
}

func showCreateUser(c *cursor, ctx context.Context) (string, bool) {
	user, host, ok := account(c, ctx)
	if !ok || !c.done() {
		return "", false
	}
	return "SELECT CONCAT('CREATE USER ', QUOTE(User), '@', QUOTE(Host), ' IDENTIFIED WITH ', QUOTE(plugin), ' AS ', " +
		"QUOTE(authentication_string)) AS " + quoteID("CREATE USER for "+user+"@"+host) +
		" FROM mysql.user WHERE User = " + quoteString(user) + " AND Host = " + quoteString(host), true
}

// describe: DESCRIBE table column, DESCRIBE table 'pattern'.
func describe(c *cursor, _ context.Context) (string, bool) {
	db, table, ok := c.table()
	if !ok {
		return "", false
	}
	from := "SHOW COLUMNS FROM " + quoteTable([2]string{db, table})
	if c.done() {
		return from, true
	}
	pattern, ok := c.literal()
	if !ok {
		column, ok := c.name()
		if !ok {
			return "", false
		}
		pattern = quoteString(strings.NewReplacer("_", `\_`, "%", `\%`).Replace(column))
	}
	return from + " LIKE " + pattern, c.done()
}
