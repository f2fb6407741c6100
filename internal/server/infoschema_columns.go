package server

import (
	"errors"
	"io"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/sql"
)

// What GMS says of columns in information_schema is not all that drivers and dumps read there: values of ENUM lack their escapes,
// defaults of dates have a time, and nothing tells of generated columns and ON UPDATE. Here it is mended from the definitions. (SHOW
// COLUMNS is package sql's.)

// columnText is a type without character set and collation.
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

// defaultText is the default of a column as MySQL has it: a literal without quotes, an expression as it is, NULL for none.
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
