// Package sqltorture kills a server and proves over the wire that nothing it acknowledged is lost.
//
// Clients work on a server in many connections at once; it is killed with SIGKILL at a random moment, started again, and what it then
// answers is held against what it had acknowledged. The package knows SQL, the Go driver and the command line of the server. It does
// not know the engine: it judges as a user would.
//
// # Words
//
// A life is one server process, from its start to its death. A client is a goroutine with a connection; its number lives on in later
// lives. A work is what a client wants to happen whole or not at all: a transaction, or one statement by itself; works of a client are
// numbered without gaps. A question is a work whose answer was lost. A builder changes the definitions of its sites, tables that clients
// use meanwhile. A tick orders what this process sees: the oracle's only clock.
//
// # Rules
//
//  1. A transaction sets the stamp of its client, a row, to its number; a work of one statement carries its number in the rows it makes.
//     So after a death each client has acknowledged works and at most one question, and the database says itself how it is answered.
//  2. Rows belong to one client each, so its works in order say what they must be. What several clients change commutes: balances are
//     sums, a parent that is deleted stays so, and whether a child is there follows from its parent.
//  3. A statement that fails has done nothing, a deadlock has undone the transaction, and both are proven by the rows found later.
//  4. A definition is that before or that after the step under way. A site's number (born) is the default of one of its columns, so
//     each row says in which table it was put, whatever that table's name is by now.
//  5. The oracle judges only what a start found, before any client writes: rows by all ways that lead to them. What clients and watchers
//     find wrong while they work counts as well.
//  6. What may be lost is decided by what was done to the server's memory, and in no other way: nothing, unless it was taken away and
//     commits did not wait for the disk; then only the last ones, and a work that is there proves all acknowledged before it began.
//  7. Ids that AUTO_INCREMENT gave are never given again, whatever became of the work they were given in.
//
// # A life
//
//	meddle ──▶ start ──▶ look ──▶ judge ──▶ load ──▶ SIGKILL, or a stop in order ──▶ perhaps an offline check
//	             │         │                  │              │
//	             └─────────┴──────────────────┴──────────────┴──▶ SIGKILL
package sqltorture
