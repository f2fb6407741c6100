package sqlparse

import (
	"fmt"
	"strings"
	"testing"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// marksOf lists the comment of each SELECT of a statement, in order: "-" if it has no mark.
func marksOf(stmt ast.Statement) string {
	var list []string
	walk(stmt, func(n ast.SQLNode) bool {
		if s, ok := n.(*ast.Select); ok {
			m := "-"
			if len(s.Comments) > 0 {
				if lm, ok := parseMark(string(s.Comments[0])); ok {
					m = strings.TrimSuffix(lm.strength+","+lm.wait, ",")
				}
			}
			list = append(list, m)
		}
		return true
	})
	return strings.Join(list, " ")
}

func TestMarks(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"SELECT 1 FROM t", "-"},
		{"SELECT 1 FROM t FOR UPDATE", "x"},
		{"SELECT 1 FROM t FOR UPDATE SKIP LOCKED", "x,skip"},
		{"SELECT 1 FROM t FOR UPDATE NOWAIT", "x,nowait"},
		{"SELECT 1 FROM t FOR UPDATE WAIT 5", "x"},
		{"SELECT 1 FROM t LOCK IN SHARE MODE", "s"},
		{"SELECT 1 FROM t LOCK IN SHARE MODE NOWAIT", "s,nowait"},
		{"SELECT 1 FROM t FOR SHARE", "s"},
		{"SELECT 1 FROM t FOR SHARE NOWAIT", "s,nowait"},
		{"SELECT 1 FROM t FOR SHARE OF t, u SKIP LOCKED", "s,skip"},
		{"SELECT 1 FROM t, u FOR SHARE OF t FOR UPDATE OF u", "x"},
		{"SELECT 1 FROM t, u FOR UPDATE OF t FOR SHARE OF u", "x"},
		{"SELECT a INTO @a FROM t FOR UPDATE", "x"},
		{"SELECT /*+ JOIN_ORDER(t) */ 1 FROM t FOR UPDATE", "x"},
		{"SELECT DISTINCT 1 FROM t FOR SHARE", "s"},
		{"SELECT 1 FROM t WHERE a IN (SELECT 2 FROM u FOR UPDATE)", "- x"},
		{"SELECT 1 FROM t WHERE a IN (SELECT 2 FROM u FOR SHARE NOWAIT) FOR UPDATE", "x s,nowait"},
		{"SELECT 1 FROM (SELECT 2 FROM u) AS d FOR SHARE", "s -"},
		{"WITH c AS (SELECT 1 FROM t FOR SHARE) SELECT 2 FROM c", "- s"},
		{"SELECT 1 FROM t UNION SELECT 2 FROM u FOR UPDATE", "- x"},
		{"SELECT 1 FROM t UNION SELECT 2 FROM u FOR SHARE", "- s"},
		{"(SELECT 1 FROM t FOR UPDATE) UNION (SELECT 2 FROM u)", "x -"},
		{"(SELECT 1 FROM t FOR SHARE) UNION ALL (SELECT 2 FROM u FOR SHARE NOWAIT) ORDER BY 1", "s s,nowait"},
		{"INSERT INTO x SELECT 1 FROM t FOR UPDATE", "x"},
		{"CREATE TABLE x AS SELECT 1 FROM t FOR SHARE", "s"},
		{"SET @a = (SELECT 1 FROM t FOR UPDATE)", "x"},
		{"EXPLAIN SELECT 1 FROM t FOR UPDATE", "x"},
		{"CALL p((SELECT 1 FROM t FOR UPDATE))", "x"},
		{"CREATE PROCEDURE p() BEGIN SELECT 1 FROM t FOR UPDATE; SELECT 2 FROM u; END", "x -"},
		{"CREATE PROCEDURE p() BEGIN SELECT 1 FROM t FOR SHARE NOWAIT; SELECT 2 FROM u; END", "s,nowait -"},
		{"CREATE PROCEDURE p() BEGIN IF EXISTS (SELECT 1 FROM t FOR UPDATE) THEN SELECT 2 FROM u FOR SHARE; END IF; END", "x s"},
		{"CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1 FROM t FOR UPDATE; END", "x"},
		{"CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW BEGIN INSERT INTO x SELECT 1 FROM u FOR SHARE; END", "s"},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO INSERT INTO x SELECT 1 FROM u FOR UPDATE", "x"},
		{"SELECT 'FOR UPDATE', `for share` FROM t -- FOR UPDATE", "-"},
		{"SELECT /*hearth:lock=x*/ 1 FROM t", "-"},
		{"SELECT /*!50000 /*hearth:lock=x*/ */ 1 FROM t", "-"},
		{"SELECT # hearth:lock=x\n 1 FROM t", "-"},
		{"SELECT /*hearth:lock=x*/ 1 FROM t LOCK IN SHARE MODE", "s"},
		{"SELECT /*hearth:lock=x*/ 1 FROM t FOR SHARE", "s"},
	} {
		if got := marksOf(mustParse(t, c.src)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.src, got, c.want)
		}
	}
}

// TestMarkKeepsHint: a hint behind the mark is still read by the planner.
func TestMarkKeepsHint(t *testing.T) {
	s := mustParse(t, "SELECT /*+ JOIN_ORDER(t,u) */ 1 FROM t, u FOR UPDATE").(*ast.Select)
	if got, want := string(s.Comments[0]), "/*hearth:lock=x*//*+ JOIN_ORDER(t,u) */"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMarkTwice: a statement that is rewritten and walked again is marked once.
func TestMarkTwice(t *testing.T) {
	s := mustParse(t, "SELECT 1 FROM t FOR UPDATE").(*ast.Select)
	markLocks(s)
	if got := fmt.Sprintf("%s", s.Comments); got != "[/*hearth:lock=x*/]" {
		t.Errorf("got %s", got)
	}
}
