package server

import (
	"errors"
	"io"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/rowexec"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/sql"
)

// What GMS says of columns is not what drivers and dumps read out of it: types carry their collations, the collation is always
// that of GMS, defaults have their quotes, and nothing tells of generated columns. Here SHOW COLUMNS and information_schema.COLUMNS
// are mended from the definitions.

// columnText is a type as SHOW COLUMNS has it, without character set and collation.
func columnText(t gms.Type) string {
	switch t := t.(type) {
	case gms.EnumType:
		return "enum(" + quotedList(t.Values()) + ")"
	case gms.SetType:
		return "set(" + quotedList(t.Values()) + ")"
	case gms.TypeWithCollation:
		return t.StringWithTableCollation(t.Collation())
	}
	return t.String()
}

func quotedList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return strings.Join(quoted, ",")
}

// collationName of a type, NULL if it has no characters.
func collationName(t gms.Type) any {
	if c, ok := t.(gms.TypeWithCollation); ok && (types.IsTextOnly(t) || types.IsEnum(t) || types.IsSet(t)) {
		return c.Collation().Name()
	}
	return nil
}

// defaultText is the default of a column as MySQL shows it: a literal without quotes, an expression as it is, NULL for none.
func defaultText(ctx *gms.Context, c *dict.Column) any {
	d := c.Default
	if d == nil || strings.EqualFold(d.Text, "NULL") {
		return nil
	}
	text := d.Text
	if !d.Literal {
		return withoutParens(text)
	}
	text = withoutQuotes(text)
	if types.IsDecimal(c.Type) { // with all its digits behind the point
		if v, _, err := c.Type.Convert(ctx, text); err == nil && v != nil {
			if s, err := c.Type.SQL(ctx, nil, v); err == nil {
				return s.ToString()
			}
		}
	}
	return text
}

// withoutQuotes is what a string literal says; other texts stay.
func withoutQuotes(text string) string {
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
		return strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	return text
}

// withoutParens takes off the parentheses that an expression was written in.
func withoutParens(text string) string {
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		return text[1 : len(text)-1]
	}
	return text
}

// extraText is what MySQL has in EXTRA.
func extraText(c *dict.Column) string {
	var parts []string
	if c.AutoIncrement {
		parts = append(parts, "auto_increment")
	}
	switch {
	case c.Generated != nil && c.Virtual:
		parts = append(parts, "VIRTUAL GENERATED")
	case c.Generated != nil:
		parts = append(parts, "STORED GENERATED")
	case c.Default != nil && !c.Default.Literal:
		parts = append(parts, "DEFAULT_GENERATED")
	}
	if c.OnUpdate != nil {
		parts = append(parts, "on update "+c.OnUpdate.Text)
	}
	return strings.Join(parts, " ")
}

// keyText is what MySQL has in COLUMN_KEY: of the strongest index that the column is the first of, or in the primary key.
func keyText(t *dict.Table, ordinal int) string {
	for _, p := range t.Primary {
		if p.Column == ordinal {
			return "PRI"
		}
	}
	key := ""
	for _, x := range t.Indexes {
		if len(x.Parts) == 0 || x.Parts[0].Column != ordinal {
			continue
		}
		if x.Unique && len(x.Parts) == 1 {
			return "UNI"
		}
		key = "MUL"
	}
	return key
}

// showColumns is SHOW [FULL] COLUMNS and DESCRIBE.
func showColumns(ctx *gms.Context, n *plan.ShowColumns, row gms.Row) (gms.RowIter, error) {
	rows, err := rowexec.DefaultBuilder.Build(ctx, n, row)
	if err != nil {
		return nil, err
	}
	t := definitionOf(ctx, n.Child)
	schema := n.TargetSchema()
	i := -1
	return changedRows{rows, func(row gms.Row) {
		i++
		at := 0 // of Null, behind Collation
		if n.Full {
			row[2] = collationName(schema[i].Type)
			row[7] = "select,insert,update,references"
			at = 1
		}
		row[1] = columnText(schema[i].Type)
		if t != nil && i < len(t.Columns) {
			row[3+at] = keyText(t, i)
			row[4+at] = defaultText(ctx, &t.Columns[i])
			row[5+at] = extraText(&t.Columns[i])
		} else if text, ok := row[4+at].(string); ok { // a view has the defaults of its tables
			row[4+at] = withoutQuotes(text)
		}
	}}, nil
}

// definitionOf the table of a node, nil if it is none of the dictionary's.
func definitionOf(ctx *gms.Context, n gms.Node) *dict.Table {
	rt, ok := n.(*plan.ResolvedTable)
	if !ok || rt.SqlDatabase == nil {
		return nil
	}
	if t, ok := rt.Table.(gms.TemporaryTable); ok && t.IsTemporary() {
		return nil
	}
	return sql.SessionOf(ctx).Schema().Table(rt.SqlDatabase.Name(), rt.Table.Name())
}

// columnsTable is information_schema.COLUMNS.
func columnsTable() gms.Table {
	t := information_schema.NewColumnsTable()
	place := map[string]int{}
	for i, c := range t.TableSchema {
		place[strings.ToUpper(c.Name)] = i
	}
	read := t.RowIter
	t.RowIter = func(ctx *gms.Context, cat gms.Catalog, all gms.Schema) (gms.RowIter, error) {
		rows, err := read(ctx, cat, all)
		if err != nil {
			return nil, err
		}
		schema := sql.SessionOf(ctx).Schema()
		return changedRows{rows, func(row gms.Row) {
			db, _ := row[place["TABLE_SCHEMA"]].(string)
			table, _ := row[place["TABLE_NAME"]].(string)
			name, _ := row[place["COLUMN_NAME"]].(string)
			def := schema.Table(db, table)
			if def == nil {
				return
			}
			i := def.Column(name)
			if i < 0 {
				return
			}
			c := &def.Columns[i]
			row[place["COLUMN_DEFAULT"]] = defaultText(ctx, c)
			row[place["EXTRA"]] = extraText(c)
			row[place["COLUMN_KEY"]] = keyText(def, i)
			row[place["COLUMN_TYPE"]] = columnText(c.Type)
			if c.Generated != nil {
				row[place["GENERATION_EXPRESSION"]] = withoutParens(c.Generated.Text)
			}
		}}, nil
	}
	return t
}

// changedRows changes each row that is read.
type changedRows struct {
	gms.RowIter
	change func(gms.Row)
}

// Next implements gms.RowIter.
func (r changedRows) Next(ctx *gms.Context) (gms.Row, error) {
	row, err := r.RowIter.Next(ctx)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, io.EOF
	}
	row = row.Copy()
	r.change(row)
	return row, nil
}
