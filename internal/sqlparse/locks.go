package sqlparse

import (
	"strings"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// markPrefix begins what a client may not write in a comment.
const markPrefix = "hearth:lock="

// Strengths of a locking read, and how it waits.
const (
	share     = "s"
	exclusive = "x"
	noWait    = "nowait"
	skip      = "skip"
)

// lockMark is the locking clause of one SELECT.
type lockMark struct {
	strength string // share or exclusive
	wait     string // noWait, skip or empty: wait
}

// String is the comment that carries the mark: /*hearth:lock=x,skip*/.
func (m lockMark) String() string {
	if m.wait == "" {
		return "/*" + markPrefix + m.strength + "*/"
	}
	return "/*" + markPrefix + m.strength + "," + m.wait + "*/"
}

// parseMark reads the mark at the head of the comment of a plan node.
func parseMark(comment string) (m lockMark, ok bool) {
	rest, ok := strings.CutPrefix(comment, "/*"+markPrefix)
	if !ok {
		return m, false
	}
	rest, _, _ = strings.Cut(rest, "*/")
	m.strength, m.wait, _ = strings.Cut(rest, ",")
	return m, true
}

// markOf a value of ast.Select.Lock. Besides those of the grammar there are the ones that cutLock leaves.
func markOf(lock string) (m lockMark, ok bool) {
	switch strings.TrimSpace(lock) {
	case "":
		return m, false
	case strings.TrimSpace(ast.ShareModeStr):
		return lockMark{strength: share}, true
	case strings.TrimSpace(ast.ForUpdateStr):
		return lockMark{strength: exclusive}, true
	case strings.TrimSpace(ast.ForUpdateSkipLockedStr):
		return lockMark{exclusive, skip}, true
	}
	return parseMark(lock)
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

func mark(s *ast.Select, m lockMark) {
	if len(s.Comments) == 0 {
		s.Comments = ast.Comments{[]byte(m.String())}
		return
	}
	if _, done := parseMark(string(s.Comments[0])); !done {
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
