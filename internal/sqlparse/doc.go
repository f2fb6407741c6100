// Package sqlparse stands between what clients send and the grammar of go-mysql-server. The grammar stays as it is; this
// package gives it text that it reads as MySQL would, and passes on what it reads but the planner would lose.
//
// It knows texts and syntax trees. It does not know tables, sessions, or whether a name exists.
//
// # Rules
//
//  1. A statement to which nothing here applies goes to the grammar as it came, byte for byte. One pass over the text (scan.go)
//     finds out.
//  2. Where the tokeniser of the grammar cuts otherwise than MySQL, the text is edited before: version comments are read or
//     left out by their version, "--" without white space is no comment, names may have "$" and letters beyond ASCII,
//     0b01 is a bit literal (lexer.go). Nothing looks into string literals.
//  3. Locking clauses reach the plan as marks: a comment at the SELECT that only this package can write (locks.go). The same
//     comment written by a client is taken out.
//  4. A statement that the grammar does not know is rewritten into one that means the same; each kind has a line in the table
//     of compat.go, with its reason. When there is no such statement it stays a syntax error: better that than half of it.
//  5. Whatever recursion over the tree meets is bounded before the tree is built (Max* in scan.go) and after (walk.go).
//  6. Errors are those of MySQL, ready to be sent.
package sqlparse
