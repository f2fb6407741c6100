package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is a statement of class Write, and what its entry says of the moment it ran in.
type Change struct {
	Text         []byte
	Schema       string // default schema, "" for none
	Mode         Mode
	InsertID     uint64 // of the first row, 0: not known
	LastInsertID uint64
}

// Rewriter turns changes into reads of the pages they would touch: rows by the conditions of the change, the leaves of every
// index where an entry goes or comes from, and parents and children of foreign keys. What comes out is text like any other
// and must pass the proof (rule 1).
type Rewriter struct {
	// Table finds the definition of a table.
	Table func(ctx context.Context, schema, name string) (*Table, error)
}

// ErrNotRewritable is wrapped by the reasons why a change has no reads.
var ErrNotRewritable = errors.New("not rewritten")

func unable(reason string) error { return fmt.Errorf("%w: %s", ErrNotRewritable, reason) }

// Limits of what is made of one change.
const (
	maxBatch  = 64   // probes in one statement
	maxProbes = 8192 // probes of one change; rows beyond are left out
)

// Rewrite returns the reads, each one statement.
func (r *Rewriter) Rewrite(ctx context.Context, ch Change) ([]string, error) {
	toks, err := lex(ch.Text, ch.Mode, nil)
	if err != nil {
		return nil, unable(err.Error())
	}
	w := &rewriting{Rewriter: r, ctx: ctx, Change: ch, cursor: cursor{s: ch.Text, toks: trimEnd(ch.Text, toks)}}
	if slices.ContainsFunc(w.toks, func(t token) bool { return t.versioned }) {
		return nil, unable("version comment")
	}
	if w.at("with") {
		for !w.done() && !w.at("update") && !w.at("delete") && !w.at("insert") && !w.at("replace") {
			if !w.skipParens() {
				w.i++
			}
		}
		w.with = w.slice(w.toks[:w.i]) + " "
	}
	switch {
	case w.take("update"):
		err = w.update()
	case w.take("delete"):
		err = w.delete()
	case w.take("insert"):
		err = w.insert(false)
	case w.take("replace"):
		err = w.insert(true)
	default:
		return nil, unable("no change")
	}
	if err != nil {
		return nil, err
	}
	if len(w.out) == 0 {
		return nil, unable("no index of it can be probed")
	}
	return w.out, nil
}

// rewriting is one change under way.
type rewriting struct {
	*Rewriter
	Change
	cursor
	ctx  context.Context
	with string // WITH ..., to be put before each SELECT
	out  []string
}

// find looks a reference up.
func (w *rewriting) find(r reference) (*Table, error) {
	if r.schema == "" {
		r.schema = w.Schema
	}
	if r.schema == "" {
		return nil, unable("schema not known")
	}
	return w.Table(w.ctx, r.schema, r.table)
}

// set is one assignment of an UPDATE.
type set struct {
	column string
	expr   []token
}

// update: UPDATE refs SET ... [WHERE] [ORDER BY] [LIMIT].
func (w *rewriting) update() error {
	for w.take("low_priority", "ignore") {
	}
	refs := w.until("set")
	if !w.take("set") {
		return unable("not understood")
	}
	assigned := w.split(w.until("where", "order", "limit", "returning"))
	tail, err := w.conditions()
	if err != nil {
		return err
	}
	list, ok := references(w.s, refs)
	if !ok || len(list) == 0 {
		return unable("tables not understood")
	}
	sets := make([][]set, len(list))
	tables := make([]*Table, len(list))
	for _, a := range assigned {
		c := cursor{s: w.s, toks: a}
		var parts []string
		for {
			n, ok := c.name()
			if !ok {
				return unable("assignment not understood")
			}
			parts = append(parts, n)
			if !c.atPunct('.') {
				break
			}
			c.i++
		}
		if !c.atPunct('=') {
			return unable("assignment not understood")
		}
		k, err := w.owner(list, tables, parts)
		if err != nil {
			return err
		}
		sets[k] = append(sets[k], set{parts[len(parts)-1], a[c.i+1:]})
	}
	for k := range list {
		if len(sets[k]) == 0 {
			continue
		}
		if err := w.changeRows(tables[k], list[k].alias, "FROM "+w.slice(refs)+tail, sets[k], false); err != nil {
			return err
		}
	}
	return nil
}

// owner is which of the tables an assignment is for. Tables are looked up as they are needed.
func (w *rewriting) owner(list []reference, tables []*Table, parts []string) (int, error) {
	for k, r := range list {
		if len(parts) > 1 && !strings.EqualFold(parts[len(parts)-2], r.alias) {
			continue
		}
		if tables[k] == nil {
			t, err := w.find(r)
			if err != nil {
				return 0, err
			}
			tables[k] = t
		}
		if tables[k].column(parts[len(parts)-1]) != nil {
			return k, nil
		}
	}
	return 0, unable("column not found")
}

// conditions is the rest of an UPDATE or DELETE, from WHERE on. One without is a scan of the whole table, which warms
// nothing that stays.
func (w *rewriting) conditions() (string, error) {
	if !w.at("where") && !w.at("order") && !w.at("limit") {
		return "", unable("without WHERE")
	}
	tail := w.until("returning")
	c := cursor{s: w.s, toks: tail}
	bounded := c.at("where")
	for ; !c.done(); c.i++ {
		bounded = bounded || c.at("limit")
	}
	if !bounded {
		return "", unable("without WHERE")
	}
	return " " + w.slice(tail), nil
}

// delete: DELETE FROM t ..., DELETE a, b FROM refs ..., DELETE FROM a, b USING refs ...
func (w *rewriting) delete() error {
	for w.take("low_priority", "quick", "ignore") {
	}
	var targets [][]token
	if !w.at("from") {
		targets = w.split(w.until("from"))
	}
	if !w.take("from") {
		return unable("not understood")
	}
	refs := w.until("using", "where", "order", "limit", "returning")
	if targets == nil && w.take("using") {
		targets = w.split(refs)
		refs = w.until("where", "order", "limit")
	}
	tail, err := w.conditions()
	if err != nil {
		return err
	}
	list, ok := references(w.s, refs)
	if !ok || len(list) == 0 {
		return unable("tables not understood")
	}
	for _, r := range list {
		if targets != nil && !slices.ContainsFunc(targets, func(t []token) bool {
			c := cursor{s: w.s, toks: t}
			_, name, ok := c.tableName()
			return ok && strings.EqualFold(name, r.alias) || ok && c.i < len(t) && strings.EqualFold(name, "*")
		}) {
			continue
		}
		t, err := w.find(r)
		if err != nil {
			return err
		}
		if err := w.changeRows(t, r.alias, "FROM "+w.slice(refs)+tail, nil, true); err != nil {
			return err
		}
	}
	return nil
}

// base collects what is read of the rows that change, each under a name of its own.
type base struct {
	list  []string // "expr AS hN"
	names map[string]string
}

// add returns the name under which an expression is read.
func (b *base) add(expr string) string {
	if b.names == nil {
		b.names = map[string]string{}
	}
	if name, ok := b.names[expr]; ok {
		return name
	}
	name := "h" + strconv.Itoa(len(b.list))
	b.names[expr] = name
	b.list = append(b.list, expr+" AS "+name)
	return name
}

// changeRows reads the rows that from names under alias, their entries in the indexes that change (all of them when the rows
// go), the places of the new entries, and the rows that foreign keys have looked at.
func (w *rewriting) changeRows(t *Table, alias, from string, sets []set, gone bool) error {
	var b base
	old := func(column string) string { return b.add(quoteName(alias) + "." + quoteName(column)) }
	var changed []string
	values := map[string]string{} // by column in lower case: the name of its new value in the base
	for _, s := range sets {
		col := t.column(s.column)
		if col == nil {
			return unable("column not found")
		}
		changed = append(changed, col.Name)
		old(col.Name)
		if slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.has(col.Name) }) || isForeign(t.Parents, col.Name) {
			if expr, ok := w.scalar(col, s.expr); ok {
				values[strings.ToLower(col.Name)] = b.add(expr)
			}
		}
	}
	for _, c := range t.primaryColumns() {
		old(c)
	}
	touched := t.primary() == nil
	if c := t.loose(); c != "" {
		old(c)
		touched = true
	}
	var joins, columns []string
	join := func(table string, x *Index, on []string, column string) {
		n := "p" + strconv.Itoa(len(joins))
		for i := range on {
			on[i] = n + "." + on[i]
		}
		hint := ""
		if x != nil {
			hint = " FORCE INDEX (" + quoteName(x.Name) + ")"
		}
		joins = append(joins, " LEFT JOIN "+table+" AS "+n+hint+" ON "+strings.Join(on, " AND "))
		columns = append(columns, n+"."+quoteName(column))
	}
	self := quoteName(t.Schema) + "." + quoteName(t.Name)
	if !touched { // every column is in some index: the row itself must be asked for
		on := []string{}
		for _, c := range t.primaryColumns() {
			on = append(on, quoteName(c)+" = o."+old(c))
		}
		join(self, t.primary(), on, t.beyondPrimary())
	}
	moved := t.primary() != nil && t.primary().hasAny(changed) // then every secondary entry moves, too
	for _, x := range t.Indexes {
		if !gone && !moved && !x.hasAny(changed) {
			continue
		}
		place := func(value func(string) string) []string {
			var on []string
			for _, c := range x.Columns {
				v := value(c)
				if v == "" {
					return nil
				}
				on = append(on, quoteName(c)+" <=> o."+v)
			}
			for _, c := range t.primaryColumns() {
				if v := value(c); v != "" && !x.has(c) && !x.Unique {
					on = append(on, quoteName(c)+" = o."+v)
				}
			}
			return on
		}
		first := x.Columns[0]
		if x.Name != "PRIMARY" {
			join(self, &x, place(old), first)
		}
		if !gone {
			on := place(func(c string) string {
				if slices.ContainsFunc(changed, func(d string) bool { return strings.EqualFold(c, d) }) {
					return values[strings.ToLower(c)]
				}
				return old(c)
			})
			if on != nil && x.hasAny(changed) {
				join(self, &x, on, first)
			}
		}
	}
	for _, f := range t.Parents {
		var on []string
		for i, c := range f.ChildColumns {
			if v := values[strings.ToLower(c)]; v != "" {
				on = append(on, quoteName(f.ParentColumn[i])+" = o."+v)
			}
		}
		if len(on) == len(f.ChildColumns) {
			join(quoteName(f.ParentSchema)+"."+quoteName(f.ParentTable), nil, on, f.ParentColumn[0])
		}
	}
	children := w.children(t, old, changed, gone)
	inner := w.with + "SELECT " + strings.Join(b.list, ", ") + " " + from
	if len(joins) == 0 {
		w.out = append(w.out, inner)
	} else {
		w.out = append(w.out, "SELECT o.h0, "+strings.Join(columns, ", ")+" FROM ("+inner+") AS o"+strings.Join(joins, ""))
	}
	for _, c := range children {
		w.out = append(w.out, strings.Replace(c, "\x00", inner, 1))
	}
	return nil
}

// children are reads of the rows that hang on those that change; \x00 stands for the base.
func (w *rewriting) children(t *Table, old func(string) string, changed []string, gone bool) (list []string) {
	for _, f := range t.Children {
		touched := gone || slices.ContainsFunc(f.ParentColumn, func(c string) bool {
			return slices.ContainsFunc(changed, func(d string) bool { return strings.EqualFold(c, d) })
		})
		if !touched {
			continue
		}
		var on []string
		for i, c := range f.ParentColumn {
			on = append(on, "c."+quoteName(f.ChildColumns[i])+" = o."+old(c))
		}
		read, joins := "c."+quoteName(f.ChildColumns[0]), ""
		if (gone && f.OnDelete) || (!gone && f.OnUpdate) {
			child, err := w.Table(w.ctx, f.ChildSchema, f.ChildTable)
			if err == nil {
				if l := child.loose(); l != "" {
					read += ", c." + quoteName(l)
				} else if child.primary() != nil {
					var same []string
					for _, c := range child.primaryColumns() {
						same = append(same, "r."+quoteName(c)+" = c."+quoteName(c))
					}
					joins = " STRAIGHT_JOIN " + quoteName(f.ChildSchema) + "." + quoteName(f.ChildTable) + " AS r FORCE INDEX (PRIMARY) ON " + strings.Join(same, " AND ")
					read += ", r." + quoteName(child.beyondPrimary())
				}
				for i, x := range child.secondary() {
					n := "q" + strconv.Itoa(i)
					var same []string
					for _, c := range append(slices.Clone(x.Columns), child.primaryColumns()...) {
						same = append(same, n+"."+quoteName(c)+" <=> c."+quoteName(c))
					}
					joins += " LEFT JOIN " + quoteName(f.ChildSchema) + "." + quoteName(f.ChildTable) + " AS " + n +
						" FORCE INDEX (" + quoteName(x.Name) + ") ON " + strings.Join(same, " AND ")
					read += ", " + n + "." + quoteName(x.Columns[0])
				}
			}
		}
		list = append(list, "SELECT "+read+" FROM (\x00) AS o STRAIGHT_JOIN "+quoteName(f.ChildSchema)+"."+quoteName(f.ChildTable)+
			" AS c ON "+strings.Join(on, " AND ")+joins)
	}
	return list
}

func isForeign(keys []ForeignKey, column string) bool {
	return slices.ContainsFunc(keys, func(f ForeignKey) bool {
		return slices.ContainsFunc(f.ChildColumns, func(c string) bool { return strings.EqualFold(c, column) })
	})
}
