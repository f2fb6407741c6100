package sqlparse

import (
	"fmt"
	"strings"

	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/vterrors"
)

// nearBytesMax is how much of the statement a syntax error shows, as in MySQL.
const nearBytesMax = 80

// syntaxError is MySQL's error for what the grammar says of text.
func syntaxError(err error, text string) error {
	near, line := "", 1
	if se, ok := vterrors.RootCause(err).(vterrors.SyntaxError); ok {
		at := tokenBefore(se.Message, text, min(max(se.Position, 0), len(text)))
		near, line = text[at:], 1+strings.Count(text[:at], "\n")
	}
	if len(near) > nearBytesMax {
		near = strings.ToValidUTF8(near[:nearBytesMax], "")
	}
	msg := fmt.Sprintf("You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version "+
		"for the right syntax to use near '%s' at line %d", near, line)
	if reason := reasonOf(err.Error()); reason != "" {
		msg += " (" + reason + ")"
	}
	return mysql.NewSQLError(mysql.ERParseError, mysql.SSClientError, "%s", msg)
}

// tokenBefore finds the token that the grammar stumbled over: its position lies just behind it.
func tokenBefore(message, text string, position int) int {
	_, tok, ok := strings.Cut(message, " near '")
	tok = strings.TrimSuffix(tok, "'")
	if !ok || tok == "" {
		return position
	}
	if at := strings.LastIndex(text[:position], tok); at >= 0 && position-at <= len(tok)+8 {
		return at
	}
	return position
}

// reasonOf is what the grammar says beyond "syntax error".
func reasonOf(message string) string {
	reason, _, _ := strings.Cut(message, " at position ")
	if reason == "syntax error" {
		return ""
	}
	return reason
}
