// Package server is the MySQL server: connections, statements as clients send them, users, errors, limits, and how the process
// begins and ends.
//
// It knows clients. It does not know rows, trees or definitions (package sql does), nor the wire format of results, which is the
// library's (vitess go/mysql), under which wire.go carries the packets.
//
// # Rules
//
//  1. All statements go through client.run. What it is told is what the statement says and how its rows are taken; nothing else
//     differs between text, several statements in one text, prepared statements and cursors.
//  2. A statement that fails, for whatever reason (KILL, a timeout, a client that has gone, a panic), is undone before its client is
//     told. The client is told the reason, not what broke because of it.
//  3. The last batch of rows, or the answer without rows, goes out after the statement has ended: what is acknowledged is committed,
//     and the status flags are those after the statement.
//  4. Memory that the library may still read is not used again: batches of a cursor are not.
//  5. Nobody waits for a client without a limit: to log in, between commands, within a packet, for it to take an answer.
//  6. Whatever a client sends, it may end its own connection, never the process: what it may send has a bound, what it may make the
//     server hold has one, and a panic in a statement is that statement's failure.
//  7. Errors leave as MySQL's: number, SQLSTATE and text, made in one place (toClient).
//  8. A connection's own goroutine is the only one that uses its session. Others stop its statement by its context, and its reads by
//     the socket.
package server
