package sqlparse

import (
	"context"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// rule says what becomes of statements that begin with certain words.
type rule struct {
	words string // of which the first is what statements are found by
	// early: the grammar reads the statement, but the planner refuses it, or loses what it says.
	early  bool
	reason string
	// rewrite returns the statement that means the same. The cursor stands behind the words.
	rewrite func(c *cursor, ctx context.Context) (string, bool)
}

// rules is the table of statements that are rewritten as a whole. (Clauses within statements: clauses.go.) The first that
// matches holds. Functions and tables named hearth_ are the server's.
var rules = []rule{
	{"SHOW ENGINE", true, "the grammar lacks it", showEngine},
	{"SHOW OPEN TABLES", true, "the grammar lacks it; tables are always open", showOpenTables},
	{"SHOW ERRORS", true, "the planner lacks it; a failed statement leaves no error behind", showErrors},
	{"SHOW COUNT ( * ) WARNINGS", true, "the planner lacks it", always("SELECT hearth_warning_count() AS `@@session.warning_count`")},
	{"SHOW COUNT ( * ) ERRORS", true, "the planner lacks it; see SHOW ERRORS", always("SELECT 0 AS `@@session.error_count`")},
	{"SHOW LOCAL", false, "a synonym", prefix("SHOW SESSION ")},
	{"SHOW SCHEMAS", false, "a synonym, with LIKE", prefix("SHOW DATABASES ")},
	{"SHOW STORAGE ENGINES", false, "a synonym", always("SHOW ENGINES")},
	{"SHOW MASTER LOGS", false, "a synonym", always("SHOW BINARY LOGS")},
	{"SHOW BINLOG STATUS", false, "MariaDB's word", always("SHOW MASTER STATUS")},
	{"SHOW ALL SLAVES STATUS", false, "MariaDB's word", always("SHOW REPLICA STATUS")},
	{"SHOW ALL REPLICAS STATUS", false, "MariaDB's word", always("SHOW REPLICA STATUS")},
	{"SHOW SLAVE HOSTS", false, "a synonym", always("SHOW REPLICAS")},
	{"SHOW REPLICA HOSTS", false, "MariaDB's word", always("SHOW REPLICAS")},
	{"SHOW PACKAGE BODY STATUS", false, "mariadb-dump asks; there are none", always("SHOW FUNCTION STATUS WHERE FALSE")},
	{"SHOW PACKAGE STATUS", false, "mariadb-dump asks; there are none", always("SHOW FUNCTION STATUS WHERE FALSE")},
	{"SHOW PROFILES", false, "nothing is profiled", always("SELECT 0 AS Query_ID, 0.0 AS Duration, '' AS Query FROM dual WHERE FALSE")},
	{"SHOW PROFILE", false, "nothing is profiled", always("SELECT '' AS Status, 0.0 AS Duration FROM dual WHERE FALSE")},
	{"SHOW CREATE USER", false, "the grammar lacks it", showCreateUser},
	{"SHOW EXTENDED", false, "hidden columns and indexes do not exist", prefix("SHOW ")},
	{"SHOW FULL COLUMNS IN", false, "IN for FROM", prefix("SHOW FULL COLUMNS FROM ")},
	{"SHOW FULL FIELDS IN", false, "IN for FROM", prefix("SHOW FULL COLUMNS FROM ")},
	{"SHOW COLUMNS IN", false, "IN for FROM", prefix("SHOW COLUMNS FROM ")},
	{"SHOW FIELDS IN", false, "IN for FROM", prefix("SHOW COLUMNS FROM ")},
	{"DESCRIBE", false, "of one column, or of those like a pattern", describe},
	{"DESC", false, "of one column, or of those like a pattern", describe},
	{"EXPLAIN PARTITIONS", false, "deprecated word without meaning", prefix("EXPLAIN ")},
	{"EXPLAIN", false, "of a table: DESCRIBE", describe},
	{"HELP", false, "there are no help tables; MySQL answers the same when they are empty", always(
		"SELECT '' AS name, '' AS is_it_category FROM dual WHERE FALSE")},

	{"CHECK TABLE", false, "the grammar lacks it", tableAdmin("check", checkTable)},
	{"CHECKSUM TABLE", false, "the grammar lacks it", checksumTable},
	{"REPAIR", false, "answers as InnoDB does", tableAdmin("repair", repairTable)},
	{"OPTIMIZE", false, "space is reused as it is freed; what is left to do is what InnoDB does last, ANALYZE", analyze},
	{"ANALYZE", false, "words about binary logs and histograms", analyze},

	{"FLUSH PRIVILEGES", true, "grants hold at once", nothing},
	{"FLUSH", true, "the planner refuses it; there is nothing to flush but the slow query log, and no query cache", flush},
	{"RESET QUERY CACHE", false, "there is none", nothing},
	{"LOCK INSTANCE FOR BACKUP", false, "DDL is transactional: a dump meets it as an error, not as a hole", nothing},
	{"UNLOCK INSTANCE", false, "see LOCK INSTANCE", nothing},
	{"LOCK TABLE", false, "a synonym", prefix("LOCK TABLES ")},
	{"UNLOCK TABLE", false, "a synonym", always("UNLOCK TABLES")},
	{"SHUTDOWN", false, "the grammar lacks it", always("CALL hearth_shutdown()")},
	{"DO", false, "the grammar lacks it", do},
	{"DELETE QUICK", true, "the grammar takes the word for a table", deleteOptions},
	{"DELETE LOW_PRIORITY", true, "the grammar takes the word for a table", deleteOptions},
	{"DELETE IGNORE", true, "errors of single rows as warnings: they stay errors, and nothing is deleted", deleteOptions},
	{"SET PASSWORD", true, "the grammar reads a variable", setPassword},
	{"ALTER USER CURRENT_USER", false, "the grammar wants a name", alterOwnUser},
	{"ALTER USER USER", false, "the grammar wants a name", alterOwnUser},
	{"SET ROLE", false, "all roles of a user are active", setRole},
	{"SET RESOURCE GROUP", false, "threads are not bound to processors", nothing},
	{"START TRANSACTION WITH CONSISTENT SNAPSHOT ,", false, "the grammar takes one of the two; the handler sees the text", prefix("START TRANSACTION ")},
	{"ALTER VIEW", false, "the grammar lacks it", prefix("CREATE OR REPLACE VIEW ")},
	{"ALTER ALGORITHM", false, "ALTER VIEW", prefix("CREATE OR REPLACE ALGORITHM ")},
	{"ALTER DEFINER", false, "ALTER VIEW", prefix("CREATE OR REPLACE DEFINER ")},
	{"ALTER SQL SECURITY", false, "ALTER VIEW", prefix("CREATE OR REPLACE SQL SECURITY ")},
	{"DROP FUNCTION IF EXISTS", false, "there are no stored functions", nothing},
	{"DROP SEQUENCE IF EXISTS", false, "there are no sequences", nothing},
	{"DROP PACKAGE", false, "there are no packages", dropPackage},
	{"DROP TABLES", false, "a synonym", prefix("DROP TABLE ")},
	{"RENAME TABLES", false, "a synonym", prefix("RENAME TABLE ")},
}

// byWord finds the rules by their first word.
var byWord = func() map[string][]*rule {
	m := map[string][]*rule{}
	for i := range rules {
		first, _, _ := strings.Cut(rules[i].words, " ")
		m[first] = append(m[first], &rules[i])
	}
	return m
}()

// candidates are the rules for the first word of the statement. It allocates nothing.
func (p *parsed) candidates() []*rule {
	t := p.first[0]
	if t.kind != word || t.end-t.start > 8 {
		return nil
	}
	var upper [8]byte
	n := copy(upper[:], p.src[t.start:t.end])
	for i, b := range upper[:n] {
		if b >= 'a' && b <= 'z' {
			upper[i] = b - 'a' + 'A'
		}
	}
	return byWord[string(upper[:n])]
}

// rewriteBefore applies the early rules.
func (p *parsed) rewriteBefore(ctx context.Context, o ast.ParserOptions) (done bool, err error) {
	if p.is("FLUSH", "TABLES", "WITH") {
		return true, notSupported("FLUSH TABLES WITH READ LOCK",
			"it cannot stop all writers; take one snapshot instead (START TRANSACTION WITH CONSISTENT SNAPSHOT, --single-transaction)")
	}
	var c *cursor
	for _, r := range p.candidates() {
		if !r.early {
			continue
		}
		if c == nil {
			c = newCursor(p.text, o.AnsiQuotes)
		}
		if text, ok := r.apply(c, ctx); ok {
			return true, p.replaced(ctx, text, o)
		}
	}
	return false, nil
}

// rewriteAfter applies the others, to a statement that the grammar has refused, and then what clauses.go knows.
func (p *parsed) rewriteAfter(ctx context.Context, o ast.ParserOptions) bool {
	c := newCursor(p.text, o.AnsiQuotes)
	for _, r := range p.candidates() {
		if r.early {
			continue
		}
		if text, ok := r.apply(c, ctx); ok {
			return p.replaced(ctx, text, o) == nil
		}
	}
	return p.rewriteClauses(ctx, c, o)
}

func (r *rule) apply(c *cursor, ctx context.Context) (string, bool) {
	c.i = 0
	if !c.accept(strings.Fields(r.words)...) {
		return "", false
	}
	return r.rewrite(c, ctx)
}

// replaced parses what a rule made of the statement, with all rules: its clauses may need some, too. Literals and names in it
// come from the statement, so quotes mean what they meant there.
func (p *parsed) replaced(ctx context.Context, text string, o ast.ParserOptions) error {
	stmt, err := grammar(ctx, text, o)
	if err != nil {
		q := parsed{scanned: p.scanned, text: text}
		if !q.rewriteClauses(ctx, newCursor(text, o.AnsiQuotes), o) {
			return syntaxError(err, p.text)
		}
		stmt = q.stmt
	}
	p.stmt = stmt
	return nil
}

func always(text string) func(*cursor, context.Context) (string, bool) {
	return func(c *cursor, _ context.Context) (string, bool) { return text, true }
}

func prefix(text string) func(*cursor, context.Context) (string, bool) {
	return func(c *cursor, _ context.Context) (string, bool) { return text + c.rest(), true }
}

// nothing is the statement that succeeds and does nothing: an assignment to a variable that clients cannot name without
// meaning to.
func nothing(*cursor, context.Context) (string, bool) { return "SET @hearth_nothing = NULL", true }

// clientOf is who sends the statement, when the context knows.
func clientOf(ctx context.Context) (gms.Client, bool) {
	if c, ok := ctx.(*gms.Context); ok && c.Session != nil {
		return c.Client(), true
	}
	return gms.Client{}, false
}
