// Package torture kills a database and proves that nothing acknowledged is lost.
//
// A child process works on a database with many goroutines; the parent kills it with SIGKILL at a random moment, starts
// the next child, and compares all that one finds with what the children before had written down. The package knows only
// the public API: it judges the engine as a user would. What it knows besides is where the file of the region lies and
// where in it header and descriptors are, to damage them.
//
// # Words
//
// A life is one child, from its start to its death. A writer is a goroutine of a child; its number lives on in later
// lives. A stamp (writer, seq, n) names change n of transaction seq of a writer; every value carries the stamp of its
// change, and the rest of its bytes follow from stamp and key. Every transaction sets the row of its writer in the tree
// "stamp" to its seq.
//
// # Rules
//
//  1. Intention, commit, acknowledgement: a writer writes all changes of a transaction to its journal before it calls
//     Commit, and an acknowledgement after Commit returned. A journal is a file in the memory of the machine, written
//     with write(2), so it outlives the child.
//  2. One transaction of a writer at a time waits for its acknowledgement. So after a death each writer has
//     acknowledged transactions and at most one open question, which its stamp row answers.
//  3. Keys belong to one writer each, so its transactions in order say what a key must hold. Balances of the bank belong to
//     all; transfers commute, so the set of transactions says what they must be.
//  4. The parent alone judges, and believes the child only in what it read from the database.
//  5. What may be lost is decided by what the parent did to the memory, and in no other way: nothing, unless it took the
//     region away; then only commits that did not wait for the disk, and only the last ones: a transaction that is there
//     proves every one that was acknowledged before it began to commit.
//  6. A question stays open until a start got far enough to answer it.
//
// # A life
//
//	meddle ──▶ start ──▶ open ──▶ tell all rows ──▶ check ──▶ load ──▶ SIGKILL, or an orderly close
//	             │         │            │            │         │
//	             └─────────┴────────────┴────────────┴─────────┴──▶ SIGKILL
package torture
