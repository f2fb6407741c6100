package sqlparse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// parser is the grammar of go-mysql-server behind the rules of this package.
type parser struct{}

// New makes the parser. It has no state, and is to be gms.GlobalParser before an engine is built: the engine parses the texts
// of views, triggers and procedures with that.
func New() gms.Parser { return parser{} }

// ParseSimple parses one statement.
func (p parser) ParseSimple(query string) (ast.Statement, error) {
	stmt, _, _, err := p.ParseWithOptions(context.Background(), query, ';', false, ast.ParserOptions{})
	return stmt, err
}

// Parse parses the first statement of query with the SQL mode of the session. It returns the text of the statement as the
// grammar has read it, and with multi the rest of query.
func (p parser) Parse(ctx *gms.Context, query string, multi bool) (ast.Statement, string, string, error) {
	return p.ParseWithOptions(ctx, query, ';', multi, gms.LoadSqlMode(ctx).ParserOptions())
}

// ParseWithOptions is Parse with the options given. Positions in the statement are positions in the text returned.
func (p parser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, o ast.ParserOptions) (
	stmt ast.Statement, text, rest string, err error) {
	query = gms.RemoveSpaceAndDelimiter(query, delimiter)
	r, err := parse(ctx, query, multi, o)
	if err != nil && !errors.Is(err, ast.ErrEmpty) {
		return nil, query, "", err
	}
	return r.stmt, r.text, strings.TrimSpace(query[r.rest:]), err
}

// ParseOneWithOptions parses the first statement of query and says where the next one begins. Positions in the statement are
// positions in query.
func (p parser) ParseOneWithOptions(ctx context.Context, query string, o ast.ParserOptions) (ast.Statement, int, error) {
	r, err := parse(ctx, query, true, o)
	if err != nil {
		return nil, r.rest, err
	}
	if ddl, ok := r.stmt.(*ast.DDL); ok && len(r.edits) > 0 && ddl.SubStatementPositionEnd > 0 {
		ddl.SubStatementPositionStart = r.source(ddl.SubStatementPositionStart)
		ddl.SubStatementPositionEnd = r.source(ddl.SubStatementPositionEnd)
	}
	return r.stmt, r.rest, nil
}

// parsed is a statement with what was found on the way to it.
type parsed struct {
	scanned
	stmt ast.Statement
	text string // as the grammar has read it
}

// parse the first statement of src, or src as one statement.
func parse(ctx context.Context, src string, multi bool, o ast.ParserOptions) (p parsed, err error) {
	if p.scanned, err = scan(src, o.AnsiQuotes, multi); err != nil {
		return p, err
	}
	p.text = strings.TrimRight(p.scanned.text(), " \t\r\n;")
	if p.first[0].kind == end {
		return p, ast.ErrEmpty
	}
	if err := p.grammar(ctx, multi, o); err != nil {
		return p, err
	}
	if ddl, ok := p.stmt.(*ast.DDL); ok { // the grammar may count the end of the text as a byte
		ddl.SubStatementPositionEnd = min(ddl.SubStatementPositionEnd, len(p.text))
		if ddl.ViewSpec != nil && ddl.ViewSpec.CheckOption != ast.ViewCheckOptionUnspecified {
			ddl.SubStatementPositionEnd = beforeCheckOption(p.text, ddl.SubStatementPositionEnd, o.AnsiQuotes)
		}
	}
	return p, p.passes()
}

// beforeCheckOption is the end of the SELECT of a view. The grammar counts the WITH of the option that follows to it.
func beforeCheckOption(text string, end int, ansi bool) int {
	c := newCursor(text, ansi)
	for c.i = len(c.toks) - 1; c.i >= 0; c.i-- {
		if c.is(0, "WITH") && c.at(0).start < end {
			return c.at(0).start
		}
	}
	return end
}

// grammar gives the text to the grammar: rewritten if a rule wants it so, else as it is, and rewritten if that fails.
func (p *parsed) grammar(ctx context.Context, multi bool, o ast.ParserOptions) error {
	if done, err := p.rewriteBefore(ctx, o); done {
		return err
	}
	var err error
	if multi && p.compound {
		var n int
		if p.stmt, n, err = grammarOne(ctx, p.text, o); err == nil && n > 0 && n < len(p.text) {
			p.rest = p.source(n)
			p.text = strings.TrimRight(p.text[:n], " \t\r\n;")
		}
	} else {
		p.stmt, err = grammar(ctx, p.text, o)
	}
	if err == nil || errors.Is(err, ast.ErrEmpty) {
		return err
	}
	if p.rewriteAfter(ctx, o) {
		return nil
	}
	if p.function {
		return notSupported("CREATE FUNCTION", "there are no stored functions; a procedure with an OUT parameter can stand in for one")
	}
	return syntaxError(err, p.text)
}

// grammar and grammarOne are the library's parser. It recovers from its own panics while it parses, but not from those behind.
func grammar(ctx context.Context, text string, o ast.ParserOptions) (stmt ast.Statement, err error) {
	defer recovered(&err)
	return ast.ParseWithOptions(ctx, text, o)
}

func grammarOne(ctx context.Context, text string, o ast.ParserOptions) (stmt ast.Statement, next int, err error) {
	defer recovered(&err)
	return ast.ParseOneWithOptions(ctx, text, o)
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the grammar failed: %v", r)
	}
}

// passes are the changes of the tree.
func (p *parsed) passes() error {
	if p.peak > balanceFrom {
		balance(p.stmt)
		if err := checkDepth(p.stmt); err != nil {
			return err
		}
	}
	if p.seen&sawLock != 0 {
		markLocks(p.stmt)
	}
	if p.seen&sawExists != 0 {
		rewriteExists(p.stmt)
	}
	if p.seen&sawNot != 0 {
		rewriteNotIn(p.stmt)
	}
	if p.seen&sawTilde != 0 {
		rewriteBits(p.stmt)
	}
	if p.seen&sawCount != 0 {
		rewriteCounts(p.stmt)
	}
	if p.seen&sawSum != 0 {
		rewriteSums(p.stmt)
	}
	plainTimes(p.stmt)
	if e, ok := p.stmt.(*ast.Explain); ok && e.ExplainFormat == "" {
		e.ExplainFormat = ast.TreeStr // the planner's table would be one made-up row
	}
	return nil
}
