package sql

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth/internal/bulk"
)

// LOAD DATA is GMS's INSERT over rows that are read here: GMS's own reader knows neither escapes nor separators within quotes.

// loadRuleID must be none of GMS's.
const loadRuleID analyzer.RuleId = 10007

func installLoadRule() {
	analyzer.OnceAfterAll = append(analyzer.OnceAfterAll, analyzer.Rule{Id: loadRuleID, Apply: replaceLoadData})
}

func replaceLoadData(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	if SessionOf(ctx) == nil {
		return n, transform.SameTree, nil
	}
	return transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		insert, ok := n.(*plan.InsertInto)
		if !ok {
			return n, transform.SameTree, nil
		}
		source, same, err := transform.Node(insert.Source, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
			if l, ok := n.(*plan.LoadData); ok {
				return loadData{l}, transform.NewTree, nil
			}
			return n, transform.SameTree, nil
		})
		if err != nil || same {
			return n, transform.SameTree, err
		}
		return insert.WithSource(source), transform.NewTree, nil
	})
}

// loadData is the file of a LOAD DATA as a table.
type loadData struct{ *plan.LoadData }

var _ gms.ExecSourceRel = loadData{}

func (l loadData) WithChildren(children ...gms.Node) (gms.Node, error) {
	if len(children) != 0 {
		return nil, gms.ErrInvalidChildrenNumber.New(l, len(children), 0)
	}
	return l, nil
}

// RowIter implements gms.ExecSourceRel. Rows have the columns that are named, in their order, and are as long as the table's.
func (l loadData) RowIter(ctx *gms.Context, _ gms.Row) (gms.RowIter, error) {
	it := &loadIter{loadData: l, strict: !l.IsIgnore && !l.Local && isStrict(ctx)}
	if err := it.targets(); err != nil {
		return nil, err
	}
	if l.Charset != "" {
		cs, err := gms.ParseCharacterSet(l.Charset)
		if err != nil {
			return nil, err
		}
		switch cs {
		case gms.CharacterSet_utf8mb4, gms.CharacterSet_utf8mb3, gms.CharacterSet_binary, gms.CharacterSet_ascii:
		default:
			it.decode = cs.Encoder().Decode
		}
	}
	file, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	format := bulk.Format{
		FieldsTerminatedBy: l.FieldsTerminatedBy,
		LinesStartingBy:    l.LinesStartingBy,
		LinesTerminatedBy:  l.LinesTerminatedBy,
		MaxField:           maxField(ctx),
	}
	if l.FieldsEnclosedBy != "" {
		format.FieldsEnclosedBy = l.FieldsEnclosedBy[0]
	}
	if l.FieldsEscapedBy != "" {
		format.FieldsEscapedBy = l.FieldsEscapedBy[0]
	}
	it.file = file
	if it.reader, err = bulk.NewLoadReader(file, format); err != nil {
		file.Close()
		return nil, err
	}
	return it, nil
}

// open the file: from the client, or one that secure_file_priv allows.
func (l loadData) open(ctx *gms.Context) (io.ReadCloser, error) {
	if l.Local {
		if _, on, ok := gms.SystemVariables.GetGlobal("local_infile"); ok && on != int8(1) && on != true {
			return nil, mysql.NewSQLError(erLocalDisabled, "42000", "%s",
				"Loading local data is disabled; this must be enabled on both the client and server sides")
		}
		return ctx.LoadInfile(l.File)
	}
	name, err := secureFile(l.File)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, gms.ErrLoadDataCannotOpen.New(err.Error())
	}
	return f, nil
}

// Numbers of MySQL's errors and warnings about files.
const (
	erLocalDisabled   = 3948
	erTooFewFields    = 1261
	erTooManyFields   = 1262
	maxFieldOtherwise = 1 << 30
)

// secureFile is where a file is that a client names: in the directory of secure_file_priv, to which a relative name is relative.
// Links do not lead out of it. An empty secure_file_priv allows any file.
func secureFile(name string) (string, error) {
	_, v, _ := gms.SystemVariables.GetGlobal("secure_file_priv")
	dir, _ := v.(string)
	if dir == "" {
		return name, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", gms.ErrSecureFilePriv.New()
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		if rel, relErr := filepath.Rel(dir, name); relErr == nil && filepath.IsLocal(rel) {
			return "", gms.ErrLoadDataCannotOpen.New(err.Error())
		}
		return "", gms.ErrSecureFilePriv.New() // whether there is such a directory is nobody's business
	}
	real = filepath.Join(real, filepath.Base(name))
	if target, err := filepath.EvalSymlinks(real); err == nil {
		real = target
	}
	if rel, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(rel) {
		return "", gms.ErrSecureFilePriv.New()
	}
	return real, nil
}

func maxField(ctx *gms.Context) int {
	if v, err := ctx.GetSessionVariable(ctx, "max_allowed_packet"); err == nil {
		switch n := v.(type) {
		case int64:
			return int(n)
		case uint64:
			return int(n)
		}
	}
	return maxFieldOtherwise
}

func isStrict(ctx *gms.Context) bool {
	mode := gms.LoadSqlMode(ctx)
	return mode.ModeEnabled("STRICT_TRANS_TABLES") || mode.ModeEnabled("STRICT_ALL_TABLES")
}

// loadIter reads the rows of a file.
type loadIter struct {
	loadData
	file    io.ReadCloser
	reader  *bulk.LoadReader
	decode  func([]byte) ([]byte, bool) // from the file's character set; nil: as it is
	strict  bool                        // what a client's own file, or IGNORE, is warned of is an error
	line    int64
	started bool

	inputs []loadTarget // of the fields of a line
	out    []int        // ordinals of the columns of a row, in its order
}

// loadTarget is what a field goes to.
type loadTarget struct {
	variable string // of the user; else
	column   int    // an ordinal
}

// targets finds out what the fields are for. The planner puts the columns that only SET names behind those of the list, and
// pads the list of variables to the number of columns.
func (it *loadIter) targets() error {
	if len(it.ColNames) == 0 { // no list, or one of variables only; a row has all columns
		for i := range it.DestSch {
			it.out = append(it.out, i)
		}
		return it.readInto(it.out)
	}
	for _, name := range it.ColNames {
		c := it.DestSch.IndexOfColName(name)
		if c < 0 {
			return gms.ErrUnknownColumn.New(name, it.DestSch[0].Source)
		}
		it.out = append(it.out, c)
	}
	behind := len(it.UserVars) // the last variable
	for behind > 0 && it.UserVars[behind-1] == nil {
		behind--
	}
	onlySet := 0
	for onlySet < len(it.UserVars)-max(len(it.DestSch), behind) && onlySet < len(it.out) && it.setsColumn(it.out[len(it.out)-1-onlySet]) {
		onlySet++
	}
	return it.readInto(it.out[:len(it.out)-onlySet])
}

// readInto makes the targets of variables and of the columns listed.
func (it *loadIter) readInto(listed []int) error {
	if len(it.ColNames) == 0 && it.variablesFrom(0) {
		listed = nil
	}
	for i := 0; i < len(it.UserVars) && (len(listed) > 0 || it.variablesFrom(i)); i++ {
		if set, ok := it.UserVars[i].(*expression.SetField); ok {
			it.inputs = append(it.inputs, loadTarget{variable: set.LeftChild.(*expression.UserVar).Name, column: -1})
			continue
		}
		if len(listed) == 0 {
			return fmt.Errorf("LOAD DATA: field %d has no column", i+1)
		}
		it.inputs = append(it.inputs, loadTarget{column: listed[0]})
		listed = listed[1:]
	}
	return nil
}

func (it *loadIter) setsColumn(c int) bool { return len(it.SetExprs) > c && it.SetExprs[c] != nil }

// variablesFrom: there is a variable at i or behind.
func (it *loadIter) variablesFrom(i int) bool {
	for ; i < len(it.UserVars); i++ {
		if it.UserVars[i] != nil {
			return true
		}
	}
	return false
}

// Close implements gms.RowIter. What is left of a client's file is read: the client sends all of it.
func (it *loadIter) Close(*gms.Context) error { return it.file.Close() }

// Next implements gms.RowIter.
func (it *loadIter) Next(ctx *gms.Context) (gms.Row, error) {
	if !it.started {
		it.started = true
		for range it.IgnoreNum {
			if err := it.reader.SkipLine(); err != nil {
				return nil, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fields, rest, err := it.reader.Next(len(it.inputs))
	if err != nil {
		return nil, err
	}
	it.line++
	if rest {
		if err := it.complain(ctx, erTooManyFields, "Row %d was truncated; it contained more data than there were input columns"); err != nil {
			return nil, err
		}
	}
	has := make([]bool, len(it.DestSch))
	values := make(gms.Row, len(it.DestSch)) // by ordinal
	for i, target := range it.inputs {
		if i == len(fields) {
			if err := it.complain(ctx, erTooFewFields, "Row %d doesn't contain data for all columns"); err != nil {
				return nil, err
			}
		}
		var err error
		switch {
		case i < len(fields):
			err = it.assign(ctx, target, fields[i], values, has)
		case target.column < 0:
			err = ctx.SetUserVariable(ctx, target.variable, nil, types.Null)
		}
		if err != nil {
			return nil, err
		}
	}
	return it.row(ctx, values, has)
}

// assign gives a field to its variable or column.
func (it *loadIter) assign(ctx *gms.Context, target loadTarget, f bulk.Field, values gms.Row, has []bool) error {
	text := f.Text
	if it.decode != nil && !f.Null && (target.column < 0 || !types.IsBinaryType(it.DestSch[target.column].Type)) {
		var ok bool
		if text, ok = it.decode(text); !ok {
			return types.ErrBadCharsetString.New(it.Charset, f.Text)
		}
	}
	if target.column < 0 {
		if f.Null {
			return ctx.SetUserVariable(ctx, target.variable, nil, types.Null)
		}
		return ctx.SetUserVariable(ctx, target.variable, string(text), types.LongText)
	}
	if col := it.DestSch[target.column]; len(text) == 0 && !f.Null && !takesEmpty(col.Type) {
		if it.strict {
			return it.notEmpty(col)
		}
		return nil
	}
	has[target.column] = true
	if !f.Null {
		values[target.column] = string(text)
	}
	return nil
}

// takesEmpty: the empty string may be a value. For other types it is none, and the column has its default.
func takesEmpty(t gms.Type) bool {
	switch t.(type) {
	case gms.StringType, gms.EnumType, gms.SetType:
		return true
	}
	return false
}

// row puts the values into the order of the row, with what SET says. A column without a value has its default.
func (it *loadIter) row(ctx *gms.Context, values gms.Row, has []bool) (gms.Row, error) {
	set := values
	for c, e := range it.SetExprs {
		if e == nil {
			continue
		}
		v, err := e.Eval(ctx, values)
		if err != nil {
			return nil, err
		}
		if &set[0] == &values[0] { // expressions see the fields, not each other
			set = append(gms.Row(nil), values...)
		}
		set[c], has[c] = v, true
	}
	if err := it.defaults(ctx, set, has); err != nil {
		return nil, err
	}
	row := make(gms.Row, len(it.DestSch))
	for i, c := range it.out {
		row[i] = set[c]
	}
	return row, nil
}

// defaults fills in columns that have no value: literals first, expressions may name other columns.
func (it *loadIter) defaults(ctx *gms.Context, row gms.Row, has []bool) (err error) {
	for _, literal := range []bool{true, false} {
		for _, c := range it.out {
			col := it.DestSch[c]
			if has[c] || col.Default.IsLiteral() != literal {
				continue
			}
			if row[c], err = col.Default.Eval(ctx, row); err != nil {
				return err
			}
			if row[c] == nil && !col.Nullable && !col.AutoIncrement {
				if it.strict {
					return gms.ErrInsertIntoNonNullableDefaultNullColumn.New(col.Name)
				}
				row[c] = col.Type.Zero()
			}
		}
	}
	return nil
}

// complain about the line: a warning, or if the statement is strict, an error.
func (it *loadIter) complain(ctx *gms.Context, code int, format string) error {
	if it.strict {
		return mysql.NewSQLError(code, "01000", format, it.line)
	}
	ctx.Session.Warn(&gms.Warning{Level: "Warning", Code: code, Message: fmt.Sprintf(format, it.line)})
	return nil
}

// notEmpty is the error of a strict statement for an empty field of a type that has no such value.
func (it *loadIter) notEmpty(col *gms.Column) error {
	kind, number, state := "integer", 1366, "HY000"
	switch {
	case types.IsTime(col.Type), types.IsTimespan(col.Type):
		kind, number, state = strings.ToLower(typeName(col.Type)), 1292, "22007"
	case types.IsDecimal(col.Type):
		kind = "decimal"
	case types.IsFloat(col.Type):
		kind = "double"
	case !types.IsInteger(col.Type):
		kind = strings.ToLower(typeName(col.Type))
	}
	return mysql.NewSQLError(number, state, "Incorrect %s value: '' for column '%s' at row %d", kind, col.Name, it.line)
}

// typeName is the name of a type without its length.
func typeName(t gms.Type) string {
	name, _, _ := strings.Cut(t.String(), "(")
	return name
}
