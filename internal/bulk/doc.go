// Package bulk reads what comes in bulk and is of one simple form: rows as text (files for LOAD DATA, INSERT statements of literals), and
// the statements that find rows of one table by literals.
//
// It knows bytes and the formats they come in. It does not know tables, types or character sets, nor where the bytes come from.
//
// # Rules
//
//  1. Memory does not grow with the input: a buffer, and the row at hand, whose fields have a limit.
//  2. What is returned is valid until the next call.
package bulk
