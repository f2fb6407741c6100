// Package replay plays a server's log of statements to its standby, so that the standby's cache holds what its clients will
// ask for, and changes nothing there.
//
// It knows statements, what they may do and which pages a change would touch; it knows connections, queues and lanes. It does
// not know how a log is framed (package slowlog does) nor how it was carried here.
//
// # Rules
//
//  1. Nothing is sent that was not proved to read only, by the allow-list of Classify; whatever this package writes itself
//     (a rewritten change) goes through the same proof. What cannot be proved is not sent, and counted by reason.
//  2. The proof holds for the sql_mode and the character set that the connection was given, never for those of the log.
//  3. One statement is one command. The protocol's flag for many statements is never set.
//  4. Every connection is read-only by the server's own means before it carries a statement from the log.
//  5. A statement leaves only while the target was found read-only less than BlindAfter ago.
//  6. Every entry received ends in exactly one account: run, rewritten, skipped, shed or failed.
//  7. Statements of one session of the log run in their order, one at a time: on one connection, or each after the answer before.
//  8. Memory is bounded by the queue's bytes, whatever the target does.
package replay
