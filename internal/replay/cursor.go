package replay

import "strings"

// cursor walks the tokens of one statement.
type cursor struct {
	s    []byte
	toks []token
	i    int
}

func (c *cursor) done() bool { return c.i >= len(c.toks) }

// at: the next token is this word.
func (c *cursor) at(w string) bool { return !c.done() && isWord(c.s, c.toks[c.i], w) }

// atPunct: the next token is this sign.
func (c *cursor) atPunct(b byte) bool {
	return !c.done() && c.toks[c.i].kind == punct && c.s[c.toks[c.i].start] == b
}

// take steps over any of the words, if it is next.
func (c *cursor) take(words ...string) bool {
	for _, w := range words {
		if c.at(w) {
			c.i++
			return true
		}
	}
	return false
}

// name steps over an identifier.
func (c *cursor) name() (string, bool) {
	if c.done() || (c.toks[c.i].kind != word && c.toks[c.i].kind != quoted) {
		return "", false
	}
	c.i++
	return unquote(c.s, c.toks[c.i-1]), true
}

// tableName steps over [schema.]table.
func (c *cursor) tableName() (schema, table string, ok bool) {
	if table, ok = c.name(); !ok {
		return "", "", false
	}
	if c.atPunct('.') {
		c.i++
		schema = table
		table, ok = c.name()
	}
	return schema, table, ok
}

// skipParens steps over a parenthesis and what is in it, if one is next. One that nothing closes reaches to the end.
func (c *cursor) skipParens() bool {
	if !c.atPunct('(') {
		return false
	}
	if _, ok := c.inParens(); !ok {
		c.i = len(c.toks)
	}
	return true
}

// inParens steps over a parenthesis and returns what is in it; not ok, and no step, if none is next or nothing closes it.
func (c *cursor) inParens() ([]token, bool) {
	if !c.atPunct('(') {
		return nil, false
	}
	end := closing(c.s, c.toks, c.i)
	if end < 0 {
		return nil, false
	}
	inner := c.toks[c.i+1 : end]
	c.i = end + 1
	return inner, true
}

// until walks to the first of the words that stands outside parentheses, or to the end, and returns the tokens before it.
func (c *cursor) until(words ...string) []token {
	from := c.i
	for !c.done() {
		if c.skipParens() {
			continue
		}
		for _, w := range words {
			if c.at(w) && !(c.i > from && c.toks[c.i-1].kind == punct && c.s[c.toks[c.i-1].start] == '.') {
				return c.toks[from:c.i]
			}
		}
		c.i++
	}
	return c.toks[from:]
}

// rest is the text from the next token to the end.
func (c *cursor) rest() string { return c.slice(c.toks[c.i:]) }

// slice is the text of neighbouring tokens as it stands in the statement. Line comments in it would swallow what we put
// behind it, so texts with comments are put together from their tokens.
func (c *cursor) slice(t []token) string {
	if len(t) == 0 {
		return ""
	}
	var b strings.Builder
	for i, k := range t {
		if i > 0 && k.start > t[i-1].end {
			b.WriteByte(' ')
		}
		b.Write(c.s[k.start:k.end])
	}
	return b.String()
}

// split cuts tokens at the commas outside parentheses.
func (c *cursor) split(t []token) (parts [][]token) {
	depth, from := 0, 0
	for i, k := range t {
		if k.kind != punct {
			continue
		}
		switch c.s[k.start] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, t[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, t[from:])
}

// reference is a table that a statement names, under the name its expressions use.
type reference struct {
	schema, table, alias string
}

// notAlias are the words that may follow a table and are no alias of it.
var notAlias = map[string]bool{
	"join": true, "inner": true, "left": true, "right": true, "cross": true, "natural": true, "straight_join": true, "on": true,
	"using": true, "use": true, "force": true, "ignore": true, "set": true, "where": true, "order": true, "limit": true,
	"partition": true, "for": true, "full": true, "outer": true, "returning": true,
}

// references finds the base tables of a list of table references; ok is false where the list is beyond us.
func references(s []byte, toks []token) (list []reference, ok bool) {
	c := &cursor{s: s, toks: toks}
	expect := true
	for !c.done() {
		switch {
		case c.atPunct(','):
			c.i++
			expect = true
		case c.take("join", "straight_join"):
			expect = true
		case c.at("for"):
			return nil, false // FOR PORTION OF, FOR SYSTEM_TIME
		case expect && c.atPunct('('):
			if c.i+1 < len(toks) && (isWord(s, toks[c.i+1], "select") || isWord(s, toks[c.i+1], "with") || isWord(s, toks[c.i+1], "values")) {
				c.skipParens()
				expect = false
				continue
			}
			c.i++ // a nest of joins
		case expect && c.take("lateral"):
		case expect:
			schema, table, named := c.tableName()
			if !named {
				return nil, false
			}
			expect = false
			if c.skipParens() { // JSON_TABLE(...)
				continue
			}
			if c.take("partition") {
				c.skipParens()
			}
			r := reference{schema, table, table}
			c.take("as")
			if !c.done() && !notAlias[strings.ToLower(c.slice(c.toks[c.i:c.i+1]))] {
				if alias, named := c.name(); named {
					r.alias = alias
				}
			}
			list = append(list, r)
		case c.atPunct(')'):
			c.i++
		case c.skipParens(): // of a condition, of an index hint
		default:
			c.i++
		}
	}
	return list, true
}
