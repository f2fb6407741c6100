package sqlparse

import (
	"strings"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// markPrefix begins what a client may not write in a comment.
const markPrefix = "hearth:lock="

// Strengths of a locking read, and how it waits.
const (
	Share     = "s"
	Exclusive = "x"
	NoWait    = "nowait"
	Skip      = "skip"
)

// Mark is the locking clause of one SELECT.
type Mark struct {
	Strength string // Share or Exclusive
	Wait     string // NoWait, Skip or empty: wait
}

// String is the comment that carries the mark: /*hearth:lock=x,skip*/.
func (m Mark) String() string {
	if m.Wait == "" {
		return "/*" + markPrefix + m.Strength + "*/"
	}
	return "/*" + markPrefix + m.Strength + "," + m.Wait + "*/"
}

// ParseMark reads the mark at the head of the comment of a plan node.
func ParseMark(comment string) (m Mark, ok bool) {
	rest, ok := strings.CutPrefix(comment, "/*"+markPrefix)
	if !ok {
		return m, false
	}
	rest, _, _ = strings.Cut(rest, "*/")
	m.Strength, m.Wait, _ = strings.Cut(rest, ",")
	return m, true
}

// markOf a value of ast.Select.Lock. Besides those of the grammar there are the ones that cutLock leaves.
func markOf(lock string) (m Mark, ok bool) {
	switch strings.TrimSpace(lock) {
	case "":
		return m, false
	case strings.TrimSpace(ast.ShareModeStr):
		return Mark{Strength: Share}, true
	case strings.TrimSpace(ast.ForUpdateStr):
		return Mark{Strength: Exclusive}, true
	case strings.TrimSpace(ast.ForUpdateSkipLockedStr):
		return Mark{Exclusive, Skip}, true
	}
	return ParseMark(lock)
}

// markLocks writes the mark of each locking SELECT into its first comment, which the planner hands to the node of its FROM
// clause. A clause behind a set operation belongs to its last SELECT; MySQL says so, too.
func markLocks(stmt ast.Statement) {
	walk(stmt, func(n ast.SQLNode) bool {
		switch n := n.(type) {
		case *ast.Select:
			if m, ok := markOf(n.Lock); ok {
				mark(n, m)
			}
		case *ast.SetOp:
			if m, ok := markOf(n.Lock); ok {
				if last := lastSelect(n); last != nil {
					mark(last, m)
				}
			}
		}
		return true
	})
}

func mark(s *ast.Select, m Mark) {
	if len(s.Comments) == 0 {
		s.Comments = ast.Comments{[]byte(m.String())}
		return
	}
	if _, done := ParseMark(string(s.Comments[0])); !done {
		s.Comments[0] = append([]byte(m.String()), s.Comments[0]...)
	}
}

func lastSelect(s ast.SelectStatement) *ast.Select {
	for {
		switch n := s.(type) {
		case *ast.Select:
			return n
		case *ast.SetOp:
			s = n.Right
		default: // in parentheses: another one's clause
			return nil
		}
	}
}
