package sql

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/dict"
)

// SHOW CREATE is what dumps are made of, so what it says must make the same again: here and in MySQL and MariaDB. GMS's does not
// quote the values of an ENUM, nor comments; of a table with virtual columns it leaves out the indexes and checks, of a view the
// names of the columns, of triggers and procedures the SQL mode; and it takes the server's collation for the database's, which
// MariaDB's tools must know. So it is written here, from the dictionary.

// showCreateRuleID must be none of GMS's.
const showCreateRuleID analyzer.RuleId = 10005

func installShowCreateRule() {
	analyzer.OnceAfterAll = append(analyzer.OnceAfterAll, analyzer.Rule{Id: showCreateRuleID, Apply: writeShowCreate})
}

func writeShowCreate(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	if SessionOf(ctx) == nil {
		return n, transform.SameTree, nil
	}
	return transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		var row gms.Row
		var err error
		switch n := n.(type) {
		case *plan.ShowCreateTable:
			row, err = showCreateTable(ctx, n)
		case *plan.ShowCreateTrigger:
			row = showCreateTrigger(ctx, n)
		case *plan.ShowCreateProcedure:
			row = showCreateProcedure(ctx, n)
		case *plan.ShowCreateEvent:
			row = showCreateEvent(ctx, n)
		case *plan.CreateTable:
			return quoteChecks(n)
		case *plan.CreateCheck:
			c := *n.Check
			c.Expr, err = quoteFields(c.Expr)
			return plan.NewAlterAddCheck(n.Table, &c), transform.NewTree, err
		}
		if row == nil || err != nil {
			return n, transform.SameTree, err
		}
		return shown{n, row}, transform.NewTree, nil
	})
}

// shown is a node of GMS with another answer.
type shown struct {
	gms.Node
	row gms.Row
}

var _ gms.ExecSourceRel = shown{}

func (s shown) RowIter(*gms.Context, gms.Row) (gms.RowIter, error) {
	return gms.RowsToRowIter(s.row), nil
}
func (s shown) Children() []gms.Node { return nil }
func (s shown) WithChildren(children ...gms.Node) (gms.Node, error) {
	if len(children) != 0 {
		return nil, gms.ErrInvalidChildrenNumber.New(s, len(children), 0)
	}
	return s, nil
}

// showCreateTable answers for our tables and views; nil for those of others.
func showCreateTable(ctx *gms.Context, n *plan.ShowCreateTable) (gms.Row, error) {
	switch child := n.Child.(type) {
	case *plan.ResolvedTable:
		d := definitionOf(child.Table)
		if d == nil || n.IsView {
			return nil, nil
		}
		text, err := createTableText(ctx, d, n.TargetSchema())
		return gms.Row{d.rec.Name, text}, err
	case *plan.SubqueryAlias:
		if v := viewOf(ctx, child); v != nil {
			text, err := createViewText(v, "", ctx.Client())
			client, connection := collations(ctx)
			return gms.Row{v.Name, text, client, connection}, err
		}
	}
	return nil, nil
}

// createTableText is CREATE TABLE for a table. Its schema has the defaults resolved.
func createTableText(ctx *gms.Context, d *definition, schema gms.Schema) (string, error) {
	rec := d.rec
	var lines []string
	for i, c := range schema {
		line, err := columnText(ctx, rec, &rec.Columns[i], c)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	if len(rec.Primary) > 0 {
		lines = append(lines, "PRIMARY KEY "+partsText(rec, rec.Primary))
	}
	for i := range rec.Indexes {
		x := &rec.Indexes[i]
		kind := "KEY "
		if x.Unique {
			kind = "UNIQUE KEY "
		}
		lines = append(lines, kind+quoteName(x.Name)+" "+partsText(rec, x.Parts)+commentText(" COMMENT ", x.Comment))
	}
	for i := range rec.ForeignKeys {
		lines = append(lines, foreignKeyText(&rec.ForeignKeys[i]))
	}
	for _, c := range rec.Checks {
		line := "CONSTRAINT " + quoteName(c.Name) + " CHECK (" + c.CheckExpression + ")"
		if !c.Enforced {
			line += " /*!80016 NOT ENFORCED */"
		}
		lines = append(lines, line)
	}

	var b strings.Builder
	b.WriteString("CREATE ")
	if rec.Temporary {
		b.WriteString("TEMPORARY ")
	}
	b.WriteString("TABLE " + quoteName(rec.Name) + " (\n  " + strings.Join(lines, ",\n  ") + "\n) ENGINE=InnoDB")
	if rec.Counter != 0 {
		next, err := d.plain.PeekNextAutoIncrementValue(ctx)
		if err != nil {
			return "", err
		}
		if next > 1 {
			b.WriteString(" AUTO_INCREMENT=" + strconv.FormatUint(next, 10))
		}
	}
	b.WriteString(" DEFAULT CHARSET=" + rec.Collation.CharacterSet().Name() + " COLLATE=" + rec.Collation.Name())
	b.WriteString(commentText(" COMMENT=", rec.Comment))
	return b.String(), nil
}

// columnText is one column. rec has its names and texts, c its expressions.
func columnText(ctx *gms.Context, rec *dict.Table, col *dict.Column, c *gms.Column) (string, error) {
	var b strings.Builder
	b.WriteString(quoteName(col.Name) + " " + typeText(col.Type, rec.Collation))
	if col.Generated == nil && !col.Nullable {
		b.WriteString(" NOT NULL")
	}
	if col.Nullable && types.IsTimestampType(col.Type) {
		b.WriteString(" NULL") // some servers would take NOT NULL for granted
	}
	if col.AutoIncrement {
		b.WriteString(" AUTO_INCREMENT")
	}
	if s, ok := col.Type.(gms.SpatialColumnType); ok {
		if srid, fixed := s.GetSpatialTypeSRID(); fixed {
			fmt.Fprintf(&b, " /*!80003 SRID %d */", srid)
		}
	}
	switch {
	case col.Generated != nil:
		kind := " STORED"
		if col.Virtual {
			kind = " VIRTUAL"
		}
		b.WriteString(" GENERATED ALWAYS AS " + c.Generated.String() + kind)
		if !col.Nullable {
			b.WriteString(" NOT NULL")
		}
	case c.Default != nil:
		text, err := defaultText(ctx, c)
		if err != nil {
			return "", err
		}
		b.WriteString(" DEFAULT " + text)
	}
	if c.OnUpdate != nil {
		b.WriteString(" ON UPDATE " + c.OnUpdate.String())
	}
	b.WriteString(commentText(" COMMENT ", col.Comment))
	return b.String(), nil
}

// defaultText is the default of a column as MySQL writes it: numbers in quotes, too.
func defaultText(ctx *gms.Context, c *gms.Column) (string, error) {
	text := c.Default.String()
	if !c.Default.IsLiteral() || text == "NULL" {
		return text, nil
	}
	v, err := c.Default.Eval(ctx, nil)
	switch {
	case err != nil:
		return "", err
	case v == nil:
		return "NULL", nil
	case types.IsBit(c.Type):
		return fmt.Sprintf("b'%b'", v), nil
	case types.IsTime(c.Type), types.IsText(c.Type):
		return text, nil
	case types.IsEnum(c.Type), types.IsSet(c.Type):
		s, err := c.Type.SQL(ctx, nil, v)
		return quoteText(s.ToString()), err
	}
	return fmt.Sprintf("'%v'", v), nil
}

// typeText is a type with what it does not share with its table.
func typeText(t gms.Type, table gms.CollationID) string {
	var values []string
	var name string
	switch t := t.(type) {
	case gms.EnumType:
		name, values = "enum", t.Values()
	case gms.SetType:
		name, values = "set", t.Values()
	case gms.TypeWithCollation:
		return t.StringWithTableCollation(table)
	default:
		return t.String()
	}
	for i, v := range values {
		values[i] = quoteText(v)
	}
	text := name + "(" + strings.Join(values, ",") + ")"
	switch own := t.(gms.TypeWithCollation).Collation(); {
	case own.CharacterSet() != table.CharacterSet():
		text += " CHARACTER SET " + own.CharacterSet().Name() + " COLLATE " + own.Name()
	case own != table:
		text += " COLLATE " + own.Name()
	}
	return text
}

func partsText(rec *dict.Table, parts []dict.Part) string {
	list := make([]string, len(parts))
	for i, p := range parts {
		list[i] = quoteName(rec.Columns[p.Column].Name)
		if p.Prefix > 0 {
			list[i] += "(" + strconv.Itoa(int(p.Prefix)) + ")"
		}
	}
	return "(" + strings.Join(list, ",") + ")"
}

func foreignKeyText(fk *dict.ForeignKey) string {
	names := func(list []string) string {
		quoted := make([]string, len(list))
		for i, n := range list {
			quoted[i] = quoteName(n)
		}
		return " (" + strings.Join(quoted, ",") + ")"
	}
	parent := quoteName(fk.ParentTable)
	if !strings.EqualFold(fk.Database, fk.ParentDatabase) {
		parent = quoteName(fk.ParentDatabase) + "." + parent
	}
	text := "CONSTRAINT " + quoteName(fk.Name) + " FOREIGN KEY" + names(fk.Columns) + " REFERENCES " + parent + names(fk.ParentColumns)
	if fk.OnDelete != "" && fk.OnDelete != gms.ForeignKeyReferentialAction_DefaultAction {
		text += " ON DELETE " + string(fk.OnDelete)
	}
	if fk.OnUpdate != "" && fk.OnUpdate != gms.ForeignKeyReferentialAction_DefaultAction {
		text += " ON UPDATE " + string(fk.OnUpdate)
	}
	return text
}

func commentText(what, comment string) string {
	if comment == "" {
		return ""
	}
	return what + quoteText(comment)
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quoteText is a string literal. Line ends are escaped as MySQL does, a statement of a dump is to stay in one piece.
func quoteText(s string) string {
	return "'" + strings.NewReplacer("'", "''", "\\", "\\\\", "\n", "\\n", "\r", "\\r", "\x00", "\\0").Replace(s) + "'"
}

// viewOf is the definition behind a view that was resolved, nil if there is none.
func viewOf(ctx *gms.Context, n *plan.SubqueryAlias) *dict.View {
	for _, db := range SessionOf(ctx).Schema().Databases() {
		v := db.View(n.Name())
		if v != nil && v.TextDefinition == n.TextDefinition {
			return v
		}
	}
	return nil
}

// createViewText is CREATE VIEW with everything that was said, in the order that MySQL writes and mariadb-dump looks for. The name is
// qualified with the database, if that is given. Without a definer it is who makes the view.
func createViewText(v *dict.View, database string, maker gms.Client) (string, error) {
	o := gms.NewSqlModeFromString(v.SqlMode).ParserOptions()
	stmt, text, _, err := gms.GlobalParser.ParseWithOptions(gms.NewEmptyContext(), v.CreateViewStatement, ';', false, o)
	if err != nil {
		return "", err
	}
	ddl, ok := stmt.(*sqlparser.DDL)
	if !ok || ddl.ViewSpec == nil || ddl.SubStatementPositionEnd > len(text) {
		return "", fmt.Errorf("the definition of view %s cannot be read: %q", v.Name, v.CreateViewStatement)
	}
	spec := ddl.ViewSpec
	algorithm, security := strings.ToUpper(spec.Algorithm), strings.ToUpper(spec.Security)
	if algorithm == "" {
		algorithm = "UNDEFINED"
	}
	if security == "" {
		security = "DEFINER"
	}
	definer := spec.Definer
	if definer == "" {
		definer = quoteName(maker.User) + "@" + quoteName(maker.Address)
	}
	var columns string
	if len(spec.Columns) > 0 {
		names := make([]string, len(spec.Columns))
		for i, c := range spec.Columns {
			names[i] = quoteName(c.String())
		}
		columns = " (" + strings.Join(names, ",") + ")"
	}
	body := strings.TrimSpace(text[ddl.SubStatementPositionStart:ddl.SubStatementPositionEnd])
	name := quoteName(v.Name)
	if database != "" {
		name = quoteName(database) + "." + name
	}
	return fmt.Sprintf("CREATE ALGORITHM=%s DEFINER=%s SQL SECURITY %s VIEW %s%s AS %s",
		algorithm, definer, security, name, columns, body), nil
}

// showCreateTrigger is nil if there is no such trigger.
func showCreateTrigger(ctx *gms.Context, n *plan.ShowCreateTrigger) gms.Row {
	db := SessionOf(ctx).Schema().Database(n.Database().Name())
	if db == nil || db.Trigger(n.TriggerName) == nil {
		return nil
	}
	t := db.Trigger(n.TriggerName)
	client, connection := collations(ctx)
	return gms.Row{t.Name, t.SqlMode, t.CreateStatement, client, connection, db.Collation.Name(), t.CreatedAt}
}

// showCreateProcedure is nil if there is no such procedure.
func showCreateProcedure(ctx *gms.Context, n *plan.ShowCreateProcedure) gms.Row {
	db := SessionOf(ctx).Schema().Database(n.Database().Name())
	if db == nil || db.Procedure(n.ProcedureName) == nil {
		return nil
	}
	p := db.Procedure(n.ProcedureName)
	client, connection := collations(ctx)
	return gms.Row{p.Name, p.SqlMode, p.CreateStatement, client, connection, db.Collation.Name()}
}

// showCreateEvent is nil if there is no such event. Its times are those of the server's time zone.
func showCreateEvent(ctx *gms.Context, n *plan.ShowCreateEvent) gms.Row {
	db := SessionOf(ctx).Schema().Database(n.Database().Name())
	if db == nil || db.Event(n.Event.Name) == nil {
		return nil
	}
	e := n.Event.ConvertTimesFromUTCToTz(time.Now().Format("-07:00"))
	client, connection := collations(ctx)
	return gms.Row{e.Name, e.SqlMode, "SYSTEM", e.CreateEventStatement(), client, connection, db.Collation.Name()}
}

// collations of the session, as SHOW CREATE tells them.
func collations(ctx *gms.Context) (client, connection any) {
	variable := func(name string) any {
		v, err := ctx.GetSessionVariable(ctx, name)
		if err != nil {
			return ""
		}
		return v
	}
	return variable("character_set_client"), variable("collation_connection")
}

// quoteChecks quotes the names in the checks of a new table: they are kept as text and read again.
func quoteChecks(n *plan.CreateTable) (gms.Node, transform.TreeIdentity, error) {
	if len(n.Checks()) == 0 {
		return n, transform.SameTree, nil
	}
	checks := make(gms.CheckConstraints, len(n.Checks()))
	for i, c := range n.Checks() {
		quoted := *c
		var err error
		if quoted.Expr, err = quoteFields(quoted.Expr); err != nil {
			return n, transform.SameTree, err
		}
		checks[i] = &quoted
	}
	return n.WithChecks(checks), transform.NewTree, nil
}

func quoteFields(e gms.Expression) (gms.Expression, error) {
	e, _, err := transform.Expr(e, func(e gms.Expression) (gms.Expression, transform.TreeIdentity, error) {
		if f, ok := e.(*expression.GetField); ok {
			return quotedField{f}, transform.NewTree, nil
		}
		return e, transform.SameTree, nil
	})
	return e, err
}

// quotedField is a column that prints its name alone, and quoted.
type quotedField struct{ *expression.GetField }

func (f quotedField) String() string { return quoteName(f.Name()) }

func (f quotedField) WithChildren(children ...gms.Expression) (gms.Expression, error) {
	if len(children) != 0 {
		return nil, gms.ErrInvalidChildrenNumber.New(f, len(children), 0)
	}
	return f, nil
}
