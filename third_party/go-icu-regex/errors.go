package regex

import (
	"fmt"

	"gopkg.in/src-d/go-errors.v1"
)

// The texts end as those of MySQL's protocol errors do in Go, "(errno 3688) (sqlstate HY000)": a server reads number and state from there.
// Numbers and texts: MySQL 8.0, "Server Error Message Reference".
var (
	// ErrRegexNotYetSet is returned when another method is called before SetRegexString.
	ErrRegexNotYetSet = errors.NewKind("SetRegexString must be called before any other function")
	// ErrMatchNotYetSet is returned when there is nothing to match against yet.
	ErrMatchNotYetSet = errors.NewKind("SetMatchString must be called as there is nothing to match against")
	// ErrInvalidRegex is returned for a pattern that cannot be had; its text is the one of MySQL.
	ErrInvalidRegex = errors.NewKind("%s (errno %d) (sqlstate %s)")
	// ErrTimeout is returned when a search needs more steps than SetTimeLimit allows.
	ErrTimeout = errors.NewKind("Timeout exceeded in regular expression match. (errno 3699) (sqlstate HY000)")
	// ErrStackOverflow is returned when a match needs more memory than SetStackLimit allows.
	ErrStackOverflow = errors.NewKind("Overflow in the regular expression backtrack stack. (errno 3698) (sqlstate HY000)")
	// ErrOutOfBounds is returned for a position outside of the text, or a group in a replacement that the pattern does not have.
	ErrOutOfBounds = errors.NewKind("Index out of bounds in regular expression search. (errno 3686) (sqlstate HY000)")
	// ErrGroupName is returned for a replacement with a "$" that names no group.
	ErrGroupName = errors.NewKind("A capture group has an invalid name. (errno 3887) (sqlstate HY000)")
	// ErrResultTooLarge is returned when a replacement makes a text of more than ResultLimit bytes.
	ErrResultTooLarge = errors.NewKind("The result string is larger than the result buffer. (errno 3684) (sqlstate HY000)")
)

// flaw is what may be wrong with a pattern.
type flaw int

const (
	illegalArgument flaw = iota // a property or class that is not known
	ruleSyntax
	badEscape
	unimplemented
	mismatchedParen
	badInterval
	maxBelowMin
	invalidBackRef
	lookBehindLimit
	missingBracket
	invalidRange
	patternTooBig
	invalidGroupName
	invalidFlag
	numberTooBig
	propertySyntax
)

// flaws as MySQL tells them. It has no numbers for the last two; then it passes the library's name on.
var flaws = [...]struct {
	number int
	state  string
	text   string // ruleSyntax: with line and character
}{
	illegalArgument:  {3685, "HY000", "Illegal argument to a regular expression."},
	ruleSyntax:       {3688, "HY000", "Syntax error in regular expression on line %d, character %d."},
	badEscape:        {3689, "HY000", "Unrecognized escape sequence in regular expression."},
	unimplemented:    {3690, "HY000", "The regular expression contains a feature that is not implemented in this library version."},
	mismatchedParen:  {3691, "HY000", "Mismatched parenthesis in regular expression."},
	badInterval:      {3692, "HY000", "Incorrect description of a {min,max} interval."},
	maxBelowMin:      {3693, "HY000", "The maximum is less than the minimum in a {min,max} interval."},
	invalidBackRef:   {3694, "HY000", "Invalid back-reference in regular expression."},
	lookBehindLimit:  {3695, "HY000", "The look-behind assertion exceeds the limit in regular expression."},
	missingBracket:   {3696, "HY000", "The regular expression contains an unclosed bracket expression."},
	invalidRange:     {3697, "HY000", "The regular expression contains an [x-y] character range where x comes after y."},
	patternTooBig:    {3700, "HY000", "The regular expression pattern exceeds limits on size or complexity."},
	invalidGroupName: {3887, "HY000", "A capture group has an invalid name."},
	invalidFlag:      {3900, "HY000", "Invalid match mode flag in regular expression."},
	numberTooBig:     {1139, "42000", "Got error 'U_REGEX_NUMBER_TOO_BIG' from regexp"},
	propertySyntax:   {1139, "42000", "Got error 'U_REGEX_PROPERTY_SYNTAX' from regexp"},
}

// patternError is what is wrong with a pattern and where; line and character count from 1.
type patternError struct {
	flaw            flaw
	line, character int
}

func (e *patternError) kind() error {
	f := flaws[e.flaw]
	if e.flaw == ruleSyntax {
		f.text = fmt.Sprintf(f.text, e.line, e.character)
	}
	return ErrInvalidRegex.New(f.text, f.number, f.state)
}
