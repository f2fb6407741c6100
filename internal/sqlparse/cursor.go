package sqlparse

import (
	"strings"
)

// cursor walks over the tokens of one statement. It is how rewrites read: they never look into literals or comments.
type cursor struct {
	src  string
	toks []token
	i    int
}

func newCursor(src string, ansi bool) *cursor {
	c := &cursor{src: src}
	for l := (lexer{src: src, ansi: ansi}); ; {
		t := l.next()
		if t.kind == end {
			c.toks = append(c.toks, t)
			return c
		}
		c.toks = append(c.toks, t)
	}
}

// at is the token k places on; the last one is of kind end.
func (c *cursor) at(k int) token {
	if i := c.i + k; i >= 0 && i < len(c.toks) {
		return c.toks[i]
	}
	return token{end, len(c.src), len(c.src)}
}

func (c *cursor) text(k int) string { t := c.at(k); return c.src[t.start:t.end] }

// is reports whether the tokens from k on are these: words in any case, or symbols.
func (c *cursor) is(k int, tokens ...string) bool {
	for j, w := range tokens {
		if t := c.at(k + j); t.kind != word && t.kind != symbol || !strings.EqualFold(c.text(k+j), w) {
			return false
		}
	}
	return true
}

// accept passes the tokens if they come next.
func (c *cursor) accept(tokens ...string) bool {
	if !c.is(0, tokens...) {
		return false
	}
	c.i += len(tokens)
	return true
}

// acceptAny passes one of the words.
func (c *cursor) acceptAny(words ...string) bool {
	for _, w := range words {
		if c.accept(w) {
			return true
		}
	}
	return false
}

func (c *cursor) done() bool { return c.at(0).kind == end }

// rest of the text, from the current token on.
func (c *cursor) rest() string { return c.src[c.at(0).start:] }

// name passes an identifier and returns it without quotes.
func (c *cursor) name() (string, bool) {
	t := c.at(0)
	if t.kind != word && t.kind != quotedID {
		return "", false
	}
	c.i++
	return unquote(c.src[t.start:t.end]), true
}

// table passes a name or database.name. The database is empty if it is not given.
func (c *cursor) table() (db, name string, ok bool) {
	if name, ok = c.name(); !ok {
		return "", "", false
	}
	if c.accept(".") {
		db = name
		name, ok = c.name()
	}
	return db, name, ok
}

// tables passes a list of tables.
func (c *cursor) tables() (list [][2]string, ok bool) {
	for {
		db, name, ok := c.table()
		if !ok {
			return nil, false
		}
		list = append(list, [2]string{db, name})
		if !c.accept(",") {
			return list, true
		}
	}
}

// literal passes a string literal and returns it as it is written.
func (c *cursor) literal() (string, bool) {
	t := c.at(0)
	if t.kind != str {
		return "", false
	}
	c.i++
	return c.src[t.start:t.end], true
}

// closing is the index of the token that closes the parenthesis at index i, or that of the end.
func (c *cursor) closing(i int) int {
	depth := 0
	for ; i < len(c.toks)-1; i++ {
		if t := c.toks[i]; t.kind == symbol {
			switch c.src[t.start] {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					return i
				}
			}
		}
	}
	return i
}

// unquote takes the quotes off an identifier.
func unquote(id string) string {
	if len(id) >= 2 && (id[0] == '`' || id[0] == '"') && id[len(id)-1] == id[0] {
		q := id[:1]
		return strings.ReplaceAll(id[1:len(id)-1], q+q, q)
	}
	return id
}

func quoteID(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quoteTable is a table with its database, if that is given.
func quoteTable(t [2]string) string {
	if t[0] == "" {
		return quoteID(t[1])
	}
	return quoteID(t[0]) + "." + quoteID(t[1])
}

func quoteString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
