package bulk

import (
	"slices"
	"strconv"
)

// Plain reads a statement about rows of one table that are found by values of columns, as applications send most, without a syntax tree:
//
//	SELECT * | column, … | DISTINCT column FROM [db.]table WHERE condition AND … [ORDER BY column, … [ASC | DESC]] [LIMIT n] [FOR UPDATE …]
//	SELECT COUNT(*) | SUM(column) FROM [db.]table WHERE condition AND … [FOR UPDATE …]
//	UPDATE [db.]table SET column = literal | column = column + literal, … WHERE condition AND …
//	DELETE FROM [db.]table WHERE condition AND …
//
// A condition is a comparison of a column with a literal, BETWEEN two, or IN a list of them. Of everything else it says that it is not for it. What it
// takes, it takes as the grammar does.
type Plain struct {
	Action          Action
	Database, Table string   // as written, without quotes; no database: ""
	Columns         []string // of a SELECT; nil: all, or those that it counts
	Distinct        bool
	Aggregate       Aggregate
	Called          string // what the result of the aggregate is: its text
	Sets            []Set  // of an UPDATE
	Conditions      []Condition
	Order           []string
	Descending      bool
	Limit           int // rows; 0: no limit
	Lock            RowLock

	parameters int
	scanner
}

// Action is what a Plain statement does.
type Action uint8

const (
	Select Action = iota
	Update
	Delete
)

// Aggregate is what a SELECT makes of all its rows.
type Aggregate uint8

const (
	NoAggregate Aggregate = iota
	Count                 // of the rows
	Sum                   // of the one column
)

// RowLock is the locking clause of a SELECT.
type RowLock uint8

const (
	NoLock RowLock = iota
	ForShare
	ForUpdate
	ForUpdateNoWait
	ForUpdateSkipLocked
)

// Set is one assignment: Column = Value, or Column = From Operator Value.
type Set struct {
	Column, From string
	Operator     byte // '+', '-', '*'; 0: From is empty
	Value        Value
}

// Condition is a comparison of a column with a literal.
type Condition struct {
	Column string
	Compare
	Value Value
	List  []Value // of In
}

// Compare is the operator of a condition.
type Compare uint8

const (
	Equal Compare = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	In
)

// ParsePlain reads the statement. No: it is not for it.
func ParsePlain(text string) (*Plain, bool) {
	p := &Plain{scanner: scanner{text: text}}
	p.space()
	var ok bool
	switch {
	case p.word("SELECT"):
		ok = p.columns() && p.word("FROM") && p.from()
	case p.word("UPDATE"):
		p.Action = Update
		ok = p.from() && p.word("SET") && p.sets()
	case p.word("DELETE"):
		p.Action = Delete
		ok = p.word("FROM") && p.from()
	}
	if !ok || !p.word("WHERE") || !p.conditions() {
		return nil, false
	}
	if p.Action == Select && !(p.order() && p.limit() && p.lock()) {
		return nil, false
	}
	if p.Aggregate != NoAggregate && (p.Order != nil || p.Limit > 0) {
		return nil, false
	}
	return p, p.end()
}

func (p *Plain) from() (ok bool) {
	p.Database, p.Table, ok = p.table()
	return ok
}

func (p *Plain) columns() bool {
	if p.byte('*') {
		p.space()
		return true
	}
	start := p.pos
	if p.word("COUNT") {
		p.Aggregate = Count
		if !p.byte('(') || !p.byte('*') || !p.byte(')') {
			return false
		}
	} else if p.word("SUM") {
		p.Aggregate = Sum
		if !p.byte('(') {
			return false
		}
		name, ok := p.name()
		if p.Columns = []string{name}; !ok || !p.byte(')') {
			return false
		}
	} else {
		p.Distinct = p.word("DISTINCT")
		return p.names(&p.Columns) && (!p.Distinct || len(p.Columns) == 1)
	}
	p.Called = p.text[start:p.pos]
	p.space()
	return true
}

// names reads a list of them.
func (p *Plain) names(list *[]string) bool {
	for {
		name, ok := p.name()
		if !ok {
			return false
		}
		*list = append(*list, name)
		p.space()
		if !p.byte(',') {
			return true
		}
		p.space()
	}
}

func (p *Plain) sets() bool {
	for {
		var s Set
		var ok bool
		if s.Column, ok = p.name(); !ok {
			return false
		}
		p.space()
		if !p.byte('=') {
			return false
		}
		p.space()
		if at := p.pos; !p.value(&s.Value) {
			p.pos = at
			if s.From, ok = p.name(); !ok || !p.operator(&s.Operator) || !p.value(&s.Value) {
				return false
			}
		}
		p.Sets = append(p.Sets, s)
		if !p.byte(',') {
			return true
		}
		p.space()
	}
}

func (p *Plain) operator(o *byte) bool {
	p.space()
	for _, c := range []byte("+-*") {
		if p.byte(c) {
			*o = c
			signed := p.pos < len(p.text) && p.text[p.pos] == '-' // a comment, perhaps
			p.space()
			return !signed
		}
	}
	return false
}

func (p *Plain) conditions() bool {
	for {
		var c Condition
		var ok bool
		if c.Column, ok = p.name(); !ok {
			return false
		}
		p.space()
		if p.word("BETWEEN") {
			c.Compare = GreaterOrEqual
			if !p.value(&c.Value) || !p.word("AND") {
				return false
			}
			p.Conditions = append(p.Conditions, c)
			c = Condition{Column: c.Column, Compare: LessOrEqual}
		} else if p.word("IN") {
			if c.Compare = In; !p.list(&c.List) {
				return false
			}
			p.Conditions = append(p.Conditions, c)
			if !p.word("AND") {
				return true
			}
			continue
		} else if !p.compare(&c.Compare) {
			return false
		}
		if !p.value(&c.Value) {
			return false
		}
		p.Conditions = append(p.Conditions, c)
		if !p.word("AND") {
			return true
		}
	}
}

// list reads literals in parentheses.
func (p *Plain) list(values *[]Value) bool {
	if !p.byte('(') {
		return false
	}
	for {
		p.space()
		var v Value
		if !p.value(&v) || v.Kind == Parameter {
			return false
		}
		*values = append(*values, v)
		if p.byte(')') {
			p.space()
			return true
		}
		if !p.byte(',') {
			return false
		}
	}
}

func (p *Plain) compare(c *Compare) bool {
	switch {
	case p.byte('='):
		*c = Equal
	case p.byte('<'):
		if *c = Less; p.byte('=') {
			*c = LessOrEqual
		}
	case p.byte('>'):
		if *c = Greater; p.byte('=') {
			*c = GreaterOrEqual
		}
	default:
		return false
	}
	p.space()
	return true
}

// value reads a literal, or a parameter, and the space behind it.
func (p *Plain) value(v *Value) bool {
	if p.byte('?') {
		v.Kind = Parameter
		p.parameters++
	} else if !p.literal(v) {
		return false
	}
	p.space()
	return true
}

func (p *Plain) order() bool {
	if !p.word("ORDER") {
		return true
	}
	if !p.word("BY") || !p.names(&p.Order) {
		return false
	}
	if p.word("DESC") { // of the last one: of all, if there is but one
		p.Descending = true
		return len(p.Order) == 1
	}
	p.word("ASC")
	return !p.byte(',')
}

func (p *Plain) limit() bool {
	if !p.word("LIMIT") {
		return true
	}
	var v Value
	if !p.literal(&v) || v.Kind != Int {
		return false
	}
	p.space()
	var err error
	p.Limit, err = strconv.Atoi(v.Text)
	return err == nil && p.Limit > 0
}

func (p *Plain) lock() bool {
	switch {
	case !p.word("FOR"):
	case p.word("SHARE"):
		p.Lock = ForShare
	case p.word("UPDATE"):
		switch p.Lock = ForUpdate; {
		case p.word("NOWAIT"):
			p.Lock = ForUpdateNoWait
		case p.word("SKIP"):
			p.Lock = ForUpdateSkipLocked
			return p.word("LOCKED")
		}
	default:
		return false
	}
	return true
}

// Parameters is how many the statement has.
func (p *Plain) Parameters() int { return p.parameters }

// With is the statement with values for its parameters, as many as it has.
func (p *Plain) With(values []Value) *Plain {
	if p.parameters == 0 {
		return p
	}
	with := *p
	with.Sets, with.Conditions, with.parameters = slices.Clone(p.Sets), slices.Clone(p.Conditions), 0
	for i := range with.Sets {
		if v := &with.Sets[i].Value; v.Kind == Parameter {
			*v, values = values[0], values[1:]
		}
	}
	for i := range with.Conditions {
		if v := &with.Conditions[i].Value; v.Kind == Parameter {
			*v, values = values[0], values[1:]
		}
	}
	return &with
}
