package sqlparse

import "strings"

// Limits of a statement. They keep recursion over it, here, in the grammar and in the planner, far from the end of the stack,
// which nothing in Go can recover from.
const (
	// MaxParens is how deep parentheses may be nested. The grammar itself stops at 200 in expressions.
	MaxParens = 1000
	// MaxChain is how many words and operators may stand between two commas of one level of parentheses, over all levels that
	// are open: no expression of the statement can be deeper. 50,000 terms of "a = 1 OR a = 2 OR ..." stay below.
	MaxChain = 200_000
	// MaxDepth is how deep the syntax tree may be once chains of AND and OR are balanced (see balance.go).
	MaxDepth = 2_000
	// MaxStrings is how many adjacent string literals in different quotes may be one string.
	MaxStrings = 100
)

// seen are the words that decide which passes over the syntax tree are needed.
type seen uint8

const (
	sawLock   seen = 1 << iota // FOR, LOCK
	sawExists                  // EXISTS
	sawNot                     // NOT
	sawTilde                   // ~
	sawCount                   // @@warning_count, @@error_count
	sawSum                     // SUM, AVG, STD, VARIANCE
)

// scanned is what one pass over the text of a statement finds.
type scanned struct {
	src      string
	edits    []edit
	end      int      // of the statement in src
	rest     int      // where the next statement begins
	compound bool     // may contain statements: where it ends is known to the grammar only
	function bool     // makes or changes a stored function, which the grammar does not know
	first    [3]token // the first tokens
	seen     seen
	peak     int // bound of the depth of the syntax tree
}

// scan passes over the first statement of src, or over all of src as one statement.
func scan(src string, ansi, multi bool) (s scanned, err error) {
	l := lexer{src: src, ansi: ansi}
	s = scanned{src: src, end: len(src), rest: len(src)}
	var (
		space   [32]int
		levels  = append(space[:0], 0) // words and operators since the last comma, by level of parentheses
		open    = 0                    // sum of levels
		setOps  = 0                    // UNION and such: they chain beyond commas
		strs    = 0                    // adjacent string literals
		last    token
		decided = false // whether compound
		count   = 0
	)
	for {
		t := l.next()
		if t.kind == end {
			break
		}
		if count < len(s.first) {
			s.first[count] = t
		}
		if count == 0 && len(l.edits) > 0 && l.edits[0].end <= t.start { // /*!50001 CREATE ...: kept texts begin with the word
			n := 0
			for n < len(l.edits) && l.edits[n].end <= t.start {
				n++
			}
			l.edits = append([]edit{{0, t.start, ""}}, l.edits[n:]...)
		}
		count++

		if t.kind == str {
			if last.kind == word && last.end == t.start { // SELECT'a': the grammar miscounts positions without the space
				l.edit(t.start, t.start, " ")
			}
			if strs++; strs > 1 {
				if src[last.start] == src[t.start] { // 'a' 'b' is 'ab'
					l.join(last.end-1, t.start+1)
				} else if strs > MaxStrings {
					return s, tooDeep("more than %d string literals in a row", MaxStrings)
				}
			}
			last = t
			continue
		}
		strs = 0
		last = t

		switch t.kind {
		case word:
			w := src[t.start:t.end]
			switch len(w) {
			case 3:
				if strings.EqualFold(w, "FOR") {
					s.seen |= sawLock
				} else if strings.EqualFold(w, "NOT") {
					s.seen |= sawNot
				} else if strings.EqualFold(w, "SUM") || strings.EqualFold(w, "AVG") || strings.EqualFold(w, "STD") {
					s.seen |= sawSum
				}
			case 4:
				if strings.EqualFold(w, "LOCK") {
					s.seen |= sawLock
				}
			case 5:
				if strings.EqualFold(w, "UNION") || strings.EqualFold(w, "MINUS") {
					setOps++
				}
			case 6:
				if strings.EqualFold(w, "EXISTS") {
					s.seen |= sawExists
				} else if strings.EqualFold(w, "EXCEPT") {
					setOps++
				}
			case 8:
				if strings.EqualFold(w, "VARIANCE") {
					s.seen |= sawSum
				}
			case 9:
				if strings.EqualFold(w, "INTERSECT") {
					setOps++
				}
			}
			if len(w) >= len("uca1400_xx_ci") {
				if name := myCollation(w); name != "" {
					l.edit(t.start, t.end, name)
				}
			}
			if !decided {
				s.compound, decided = s.isCompound(w, count)
			}
		case symbol:
			switch src[t.start] {
			case '(':
				if len(levels) > MaxParens {
					return s, tooDeep("more than %d parentheses in each other", MaxParens)
				}
				levels = append(levels, 0)
			case ')':
				if n := len(levels) - 1; n > 0 {
					open -= levels[n]
					levels = levels[:n]
				}
				continue
			case ',':
				if !s.compound {
					open -= levels[len(levels)-1]
					levels[len(levels)-1] = 0
				}
				continue
			case '~':
				s.seen |= sawTilde
			case ';':
				if multi && !s.compound {
					s.end, s.rest = t.start, t.end
					s.edits = l.edits
					return s, nil
				}
			}
		case variable:
			if strings.HasPrefix(src[t.start:], "@@") && strings.HasSuffix(strings.ToLower(src[t.start:t.end]), "_count") {
				s.seen |= sawCount
			}
			continue
		default:
			continue
		}
		levels[len(levels)-1]++
		open++
		if depth := open + setOps; depth > s.peak {
			if s.peak = depth; depth > MaxChain {
				return s, tooDeep("more than %d words and operators without a comma", MaxChain)
			}
		}
	}
	s.edits = l.edits
	return s, nil
}

// isCompound looks at the first words: those of CREATE and ALTER that stand before the name of what is made.
func (s *scanned) isCompound(w string, count int) (compound, decided bool) {
	if count == 1 {
		return false, !strings.EqualFold(w, "CREATE") && !strings.EqualFold(w, "ALTER")
	}
	switch strings.ToUpper(w) {
	case "FUNCTION":
		s.function = true
		return true, true
	case "PROCEDURE", "TRIGGER", "EVENT", "PACKAGE":
		return true, true
	case "TABLE", "VIEW", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "DATABASE", "SCHEMA", "USER", "ROLE", "TEMPORARY":
		return false, true
	}
	return false, count > 20
}

// join removes src[start:end], the gap between two string literals, and the edits in it.
func (l *lexer) join(start, end int) {
	n := len(l.edits)
	for n > 0 && l.edits[n-1].start >= start {
		n--
	}
	l.edits = append(l.edits[:n], edit{start, end, ""})
}

// text of the statement with the edits made.
func (s *scanned) text() string {
	if len(s.edits) == 0 {
		return s.src[:s.end]
	}
	var b strings.Builder
	b.Grow(s.end + 8*len(s.edits))
	at := 0
	for _, e := range s.edits {
		if e.start >= s.end {
			break
		}
		b.WriteString(s.src[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(s.src[at:max(at, s.end)])
	return b.String()
}

// source says where in src the byte i of text came from.
func (s *scanned) source(i int) int {
	shift := 0 // from text to src
	for _, e := range s.edits {
		start := e.start - shift // in text
		if i <= start {
			break
		}
		if i < start+len(e.text) {
			return e.end
		}
		shift += e.end - e.start - len(e.text)
	}
	return min(i+shift, len(s.src))
}

// is reports whether the first tokens are these words.
func (s *scanned) is(words ...string) bool {
	for i, w := range words {
		if t := s.first[i]; t.kind != word || !strings.EqualFold(s.src[t.start:t.end], w) {
			return false
		}
	}
	return true
}
