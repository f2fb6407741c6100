package replay

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Class is what a read-only replay does with an entry.
type Class uint8

const (
	Reject  Class = iota // must never be sent
	Read                 // sent as it is
	Strip                // sent without its locking clauses
	Write                // sent as the reads that touch the same pages, or not
	DDL                  // not sent
	Admin                // a command of the protocol, not sent
	Txn                  // not sent: every statement is its own transaction
	Session              // state of its session, applied when harmless
	Skip                 // nothing to send
)

var classNames = [...]string{"reject", "read", "strip", "write", "ddl", "admin", "txn", "session", "skip"}

func (c Class) String() string { return classNames[c] }

// Verdict is what Classify found.
type Verdict struct {
	Class       Class
	Reason      string // why it is not sent as it is; empty for Read
	Text        []byte // of Read and Strip: what may be sent. Valid until the next call
	Fingerprint uint64 // the same for statements that differ in literals only; 0 when the text has no tokens
}

// Classifier reads statements one after the other and keeps its buffers. It is for one goroutine.
type Classifier struct {
	Allow []string // stored functions that may be called, in lower case: "schema.name" or "name"

	toks, bare []token
	out        []byte
	low        [64]byte
}

var seed = maphash.MakeSeed()

// Entry classifies an entry of a log.
func (c *Classifier) Entry(e *slowlog.Entry, m Mode) Verdict {
	switch e.Kind {
	case slowlog.Query:
		return c.Classify(e.Text, m)
	case slowlog.Admin:
		return Verdict{Class: Admin, Reason: "administrator command"}
	case slowlog.Empty:
		return Verdict{Class: Skip, Reason: "empty"}
	case slowlog.Broken:
		return Verdict{Class: Skip, Reason: "broken entry"}
	case slowlog.Partial:
		return Verdict{Class: Skip, Reason: "partial entry"}
	default:
		return Verdict{Class: Skip, Reason: "no statement"}
	}
}

// Classify says what a statement is, as a server reads it in mode m (rule 1).
func (c *Classifier) Classify(s []byte, m Mode) Verdict {
	var err error
	c.toks, err = lex(s, m, c.toks[:0])
	toks := trimEnd(s, c.toks)
	first := 0
	for first < len(toks) && toks[first].kind == punct && s[toks[first].start] == '(' {
		first++
	}
	if first == len(toks) {
		if err != nil {
			return Verdict{Class: Reject, Reason: err.Error()}
		}
		return Verdict{Class: Skip, Reason: "empty"}
	}
	class, known := firstWords[string(c.lower(s, toks[first]))]
	switch {
	case err == errLong && known && class == Write:
		return Verdict{Class: Write, Reason: err.Error()}
	case err != nil:
		return Verdict{Class: Reject, Reason: err.Error()}
	case !known:
		return Verdict{Class: Reject, Reason: "not on the list"}
	case toks[first].versioned:
		return Verdict{Class: Reject, Reason: "version comment at its head"}
	}
	v := Verdict{Class: class, Fingerprint: c.fingerprint(s, toks)}
	switch class {
	case Read:
		c.read(s, m, toks, &v)
	case Write:
		v.Reason = "write"
	case DDL:
		v.Reason = "ddl"
	case Skip:
		v.Reason = "shows or explains"
	case Txn:
		v.Reason = "transaction"
		c.txn(s, toks, &v)
	case Session:
		v.Reason = "session state"
		if c.is(s, toks, first, "set") {
			if _, global := parseSet(s, toks[first+1:]); global {
				v.Class, v.Reason = Reject, "changes the server"
			}
		}
	}
	return v
}

// read proves that a statement which begins like a read is one, or says what it is.
func (c *Classifier) read(s []byte, m Mode, toks []token, v *Verdict) {
	if c.withWrites(s, toks) {
		v.Class, v.Reason = Write, "write"
		return
	}
	cuts := c.locks(s, toks)
	if len(cuts) == 0 {
		if v.Reason = c.provably(s, toks); v.Reason != "" {
			v.Class = Reject
			return
		}
		v.Text = s
		return
	}
	// What is left is proved from the start: a text is what a server reads, not what we cut it from.
	c.out = append(c.out[:0], s...)
	for _, cut := range cuts {
		for i := cut.start; i < cut.end; i++ {
			c.out[i] = ' '
		}
	}
	left, err := lex(c.out, m, c.bare[:0])
	c.bare = left
	v.Class = Reject
	switch {
	case err != nil:
		v.Reason = err.Error()
	case len(c.locks(c.out, left)) > 0:
		v.Reason = "locks in locks"
	default:
		if v.Reason = c.provably(c.out, trimEnd(c.out, left)); v.Reason == "" {
			v.Class, v.Reason, v.Text = Strip, "locking clause", c.out
		}
	}
}

// provably returns why a statement is not proved to read only; "" when it is. A version comment may be read or not, so the
// proof is led both ways.
func (c *Classifier) provably(s []byte, toks []token) string {
	if why := c.proof(s, toks); why != "" {
		return why
	}
	if !slices.ContainsFunc(toks, func(t token) bool { return t.versioned }) {
		return ""
	}
	return c.proof(s, slices.DeleteFunc(slices.Clone(toks), func(t token) bool { return t.versioned }))
}

func (c *Classifier) proof(s []byte, toks []token) string {
	for i, t := range toks {
		switch t.kind {
		case punct:
			switch s[t.start] {
			case ';':
				return "more than one statement"
			case ':':
				if t.end-t.start == 2 {
					return "assigns a variable"
				}
				return "placeholder"
			case '?':
				return "placeholder"
			}
		case hint:
			h := strings.ToLower(string(s[t.start:t.end]))
			if strings.Contains(h, "set_var") || strings.Contains(h, "resource_group") {
				return "hint that sets something"
			}
		case quoted:
			if called(s, toks, i) && !c.allowed(s, toks, i) && !c.listsColumns(s, toks, i) {
				return "unknown function " + printable(s[t.start:t.end])
			}
		case word:
			if why := c.proofOfWord(s, toks, i); why != "" {
				return why
			}
		}
	}
	return ""
}

func (c *Classifier) proofOfWord(s []byte, toks []token, i int) string {
	w := c.lower(s, toks[i])
	r := roles[string(w)]
	isCall := called(s, toks, i)
	if r == forbidden {
		switch {
		case string(w) == "set" && i > 0 && (c.is(s, toks, i-1, "character") || c.is(s, toks, i-1, "char")):
			return ""
		case string(w) == "into":
			return "stores its result (INTO)"
		}
		return "has the word " + strings.ToUpper(string(w))
	}
	// The verbs that are functions, too.
	if (string(w) == "insert" || string(w) == "replace") && !isCall {
		return "has the word " + strings.ToUpper(string(w))
	}
	if string(w) == "value" && i > 0 && (c.is(s, toks, i-1, "next") || c.is(s, toks, i-1, "previous")) {
		return "moves a sequence"
	}
	if afterDot(s, toks, i) {
		if string(w) == "nextval" || string(w) == "currval" {
			return "moves a sequence"
		}
		if isCall && !c.allowed(s, toks, i) {
			return "unknown function " + printable(w)
		}
		return ""
	}
	if !isCall {
		return ""
	}
	switch r {
	case opener, pure:
		return ""
	case impure:
		return "function " + string(w)
	}
	if c.allowed(s, toks, i) || c.listsColumns(s, toks, i) {
		return ""
	}
	return "unknown function " + printable(w)
}

// called: an opening parenthesis follows.
func called(s []byte, toks []token, i int) bool {
	return i+1 < len(toks) && toks[i+1].kind == punct && s[toks[i+1].start] == '('
}

func afterDot(s []byte, toks []token, i int) bool {
	return i > 0 && toks[i-1].kind == punct && s[toks[i-1].start] == '.'
}

// listsColumns: the name before the parenthesis is one of a derived table, "(...) AS d (a, b)", or of a common table
// expression, "d (a, b) AS (", and what follows are its columns.
func (c *Classifier) listsColumns(s []byte, toks []token, i int) bool {
	if i > 0 {
		before := i - 1
		if c.is(s, toks, before, "as") && before > 0 {
			before--
		}
		if toks[before].kind == punct && s[toks[before].start] == ')' {
			return true
		}
	}
	close := closing(s, toks, i+1)
	return close > 0 && close+2 < len(toks) && c.is(s, toks, close+1, "as") && called(s, toks, close+1)
}

// allowed: the operator said that this stored function is harmless.
func (c *Classifier) allowed(s []byte, toks []token, i int) bool {
	if len(c.Allow) == 0 {
		return false
	}
	name := strings.ToLower(unquote(s, toks[i]))
	if afterDot(s, toks, i) && i > 1 {
		name = strings.ToLower(unquote(s, toks[i-2])) + "." + name
	}
	return slices.Contains(c.Allow, name)
}

// withWrites: WITH ... whose statement is no SELECT.
func (c *Classifier) withWrites(s []byte, toks []token) bool {
	i := 0
	if len(toks) == 0 || !c.is(s, toks, i, "with") {
		return false
	}
	depth := 0
	for ; i < len(toks); i++ {
		switch {
		case toks[i].kind == punct && s[toks[i].start] == '(':
			depth++
		case toks[i].kind == punct && s[toks[i].start] == ')':
			depth--
		case depth == 0 && toks[i].kind == word && i > 0 && toks[i-1].kind == punct && s[toks[i-1].start] == ')':
			switch string(c.lower(s, toks[i])) {
			case "delete", "update", "insert", "replace":
				return true
			}
		}
	}
	return false
}

// locks finds the locking clauses, at any depth.
func (c *Classifier) locks(s []byte, toks []token) (cuts []token) {
	for i := 0; i+1 < len(toks); i++ {
		from := i
		switch {
		case c.is(s, toks, i, "for") && (c.is(s, toks, i+1, "update") || c.is(s, toks, i+1, "share")):
			i += 2
			if i < len(toks) && c.is(s, toks, i, "of") {
				for i++; i < len(toks) && (toks[i].kind == quoted || isName(c, s, toks, i) ||
					(toks[i].kind == punct && (s[toks[i].start] == ',' || s[toks[i].start] == '.'))); i++ {
				}
			}
		case i+3 < len(toks) && c.is(s, toks, i, "lock") && c.is(s, toks, i+1, "in") && c.is(s, toks, i+2, "share") && c.is(s, toks, i+3, "mode"):
			i += 4
		default:
			continue
		}
		switch {
		case i < len(toks) && c.is(s, toks, i, "nowait"):
			i++
		case i+1 < len(toks) && c.is(s, toks, i, "skip") && c.is(s, toks, i+1, "locked"):
			i += 2
		case i+1 < len(toks) && c.is(s, toks, i, "wait") && toks[i+1].kind == number:
			i += 2
		}
		for _, t := range toks[from:i] {
			cuts = append(cuts, t)
		}
		i--
	}
	return cuts
}

// isName: a word that may be a table after OF, and none of those that may follow it.
func isName(c *Classifier, s []byte, toks []token, i int) bool {
	if toks[i].kind != word {
		return false
	}
	switch string(c.lower(s, toks[i])) {
	case "nowait", "skip", "wait", "for", "lock", "union", "except", "intersect":
		return false
	}
	return true
}

// txn tells transaction statements from what begins like them: START REPLICA, BEGIN NOT ATOMIC.
func (c *Classifier) txn(s []byte, toks []token, v *Verdict) {
	second := ""
	if len(toks) > 1 {
		second = strings.ToLower(string(s[toks[1].start:toks[1].end]))
	}
	ok := true
	switch string(c.lower(s, toks[0])) {
	case "start":
		ok = second == "transaction"
	case "begin":
		ok = second == "" || second == "work"
	case "release":
		ok = second == "savepoint"
	}
	if !ok {
		v.Class, v.Reason = Reject, "not on the list"
	}
}

// is: token i is this word, in any case.
func (c *Classifier) is(s []byte, toks []token, i int, w string) bool { return isWord(s, toks[i], w) }

func isWord(s []byte, t token, w string) bool {
	if t.kind != word || int(t.end-t.start) != len(w) {
		return false
	}
	for i := range len(w) {
		if s[int(t.start)+i]|0x20 != w[i]|0x20 {
			return false
		}
	}
	return true
}

// lower is the word of a token in lower case, valid until the next call; empty for what is no word or too long for one.
func (c *Classifier) lower(s []byte, t token) []byte {
	n := int(t.end - t.start)
	if t.kind != word || n > len(c.low) {
		return nil
	}
	for i, b := range s[t.start:t.end] {
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		c.low[i] = b
	}
	return c.low[:n]
}

// fingerprint hashes what is left of a statement without its literals; lists of literals count as one.
func (c *Classifier) fingerprint(s []byte, toks []token) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i, t := range toks {
		switch t.kind {
		case text, number:
			if i >= 2 && (toks[i-2].kind == text || toks[i-2].kind == number) && toks[i-1].kind == punct && s[toks[i-1].start] == ',' {
				continue
			}
			h.WriteByte('?')
		case word:
			if w := c.lower(s, t); w != nil {
				h.Write(w)
			} else {
				h.Write(s[t.start:t.end])
			}
		case punct:
			if s[t.start] == ',' && i > 0 && (toks[i-1].kind == text || toks[i-1].kind == number) {
				continue
			}
			h.Write(s[t.start:t.end])
		default:
			h.Write(s[t.start:t.end])
		}
		h.WriteByte(0)
	}
	if sum := h.Sum64(); sum != 0 {
		return sum
	}
	return 1
}

// trimEnd drops semicolons at the end: clients send them, and they separate nothing.
func trimEnd(s []byte, toks []token) []token {
	for len(toks) > 0 && toks[len(toks)-1].kind == punct && s[toks[len(toks)-1].start] == ';' {
		toks = toks[:len(toks)-1]
	}
	return toks
}

// closing is the index of the parenthesis that closes the one at open; -1 if none does.
func closing(s []byte, toks []token, open int) int {
	depth := 0
	for i := open; i < len(toks); i++ {
		if toks[i].kind != punct {
			continue
		}
		switch s[toks[i].start] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// unquote is the name in a token.
func unquote(s []byte, t token) string {
	b := s[t.start:t.end]
	if t.kind != quoted {
		return string(b)
	}
	q := string(b[:1])
	return strings.ReplaceAll(string(b[1:len(b)-1]), q+q, q)
}

// printable keeps reasons short and on one line.
func printable(b []byte) string {
	const most = 64
	if len(b) > most {
		b = b[:most]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, strings.ToLower(string(b)))
}
