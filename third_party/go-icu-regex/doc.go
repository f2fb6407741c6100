// Package regex is regular expressions as MySQL 8 has them: ICU's syntax and rules, MySQL's limits and errors.
//
// It stands in for github.com/dolthub/go-icu-regex under go-mysql-server, which calls what is exported here, and shares no code with it.
// It does not know SQL, collations, nor what an expression's flags are called there.
//
// A pattern is parsed to nodes (parse.go, bracket.go, token.go), compiled to instructions (compile.go, program.go) and run by
// a matcher that saves states and goes back to them (match.go, run.go). Programs are kept (cache.go).
//
// # Rules
//
//  1. Nothing is computed before somebody asks for a pattern: a start of the process pays nothing.
//  2. No pattern and no text makes a panic, an endless search, or more memory than the limits (limits.go) say.
//  3. The same search ends the same way everywhere: work is counted, no clock is read.
//  4. Positions are characters. ICU's are UTF-16 code units, so MySQL counts a character beyond U+FFFF twice; here
//     SUBSTRING(s, REGEXP_INSTR(s, p)) is right for all.
//
// # Where ICU does otherwise
//
//   - \N{name} and word boundaries under (?w) are refused as not implemented.
//   - \p{...} knows no blocks, no scripts by four letters, no Java names; Unicode is the version of package unicode.
//   - ^ in multi-line mode is never between CR and LF; ICU holds that for patterns that begin with it.
//   - A loop over what may be empty ends. ICU's possessive ones go on until the stack is full.
//   - A look-behind may hold anything of bounded length; ICU refuses some, such as (?<=a??b).
package regex
