package sqlparse

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dolthub/vitess/go/mysql"
)

// nearBytesMax is how much of the statement a syntax error shows, as in MySQL.
const nearBytesMax = 80

// syntaxError is MySQL's error for what the grammar says of text: "syntax error at position 27 near '15'".
func syntaxError(err error, text string) error {
	message := err.Error()
	reason, where, _ := strings.Cut(message, " at position ")
	digits, _, _ := strings.Cut(where, " ")
	near, line := "", 1
	if position, e := strconv.Atoi(strings.TrimSpace(digits)); e == nil {
		at := tokenBefore(message, text, min(max(position, 0), len(text)+1))
		near, line = text[at:], 1+strings.Count(text[:at], "\n")
	}
	if len(near) > nearBytesMax {
		near = strings.ToValidUTF8(near[:nearBytesMax], "")
	}
	msg := fmt.Sprintf("You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version "+
		"for the right syntax to use near '%s' at line %d", near, line)
	if reason != "syntax error" { // what the grammar knows beyond that
		msg += " (" + reason + ")"
	}
	return mysql.NewSQLError(mysql.ERParseError, mysql.SSClientError, "%s", msg)
}

// tokenBefore finds the token that the grammar stumbled over: it ends one byte before the position. The message names the last
// token that has a text; operators have none. (At the end of the statement the two look alike: then it is the last token.)
func tokenBefore(message, text string, position int) int {
	end := max(position-1, 0)
	_, tok, ok := strings.Cut(message, " near '")
	tok = strings.TrimSuffix(strings.TrimSpace(tok), "'")
	if ok && strings.HasSuffix(text[:end], tok) {
		return end - len(tok)
	}
	return max(end-1, 0)
}

// notSupported is MySQL's error for what a server does not do, with what to do instead.
func notSupported(what, instead string) error {
	return mysql.NewSQLError(errNotSupported, "42000", "This version of hearth doesn't support '%s': %s", what, instead)
}

const (
	errNotSupported = 1235 // ER_NOT_SUPPORTED_YET
	errStackOverrun = 1436 // ER_STACK_OVERRUN_NEED_MORE: more stack than a thread has
)

func tooDeep(format string, args ...any) error {
	return mysql.NewSQLError(errStackOverrun, "HY000", "The statement is nested too deeply: "+format, args...)
}
