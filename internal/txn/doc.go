// Package txn makes transactions of single changes: versions, snapshots, locks, rollback and purge.
//
// It knows trees as sorted maps of opaque cells and what it keeps in them, and it owns the undo space. It does not know
// what a key or a value means, what a catalog is, how pages get into memory, or how the log becomes durable: it only asks
// to wait for an LSN. Start with Tx.change (write.go), Tx.Get (read.go), Manager.undoLast (rollback.go), Manager.purgeSlot.
//
// # Rules
//
//  1. A change of an entry and its undo record are one group; so are a step of rollback and the pop of its record. After
//     any crash the slot's tail page tells what is left to be undone.
//  2. Ids of transactions and numbers of commits come from one counter, so they compare. Both are given out under mu.
//  3. A transaction leaves the active set when its end is as durable as it asked for, or, when it rolls back, after the
//     last of its versions is gone from the trees. So an entry seen under its leaf's latch whose writer is not active
//     was written by a committed transaction.
//  4. First out of the active set, then the end of the lock owner, then the waiters wake: who finds an owner ended and
//     looks again finds the transaction not active.
//  5. The writer of an entry, while active, has it locked. Whoever wants an entry looks at it under the leaf's latch: the
//     writer gets its explicit lock by lock.Grant under that latch, the wait is without it.
//  6. An explicit lock counts when the entry was looked at under the latch after the grant. A writer asks lock.Blocked
//     under the latch before it writes.
//  7. View before pages: a reader takes its view, then reads. So no view meets a version of a transaction that it calls
//     visible and that was rolled back. A copy of a leaf older than the view must be dropped (Cursor).
//  8. A view's commitLimit: every transaction with a lower number was out of the active set when the view was made. Purge
//     takes transactions below the least commitLimit in use; nobody follows an undo pointer into them, since every view sees
//     the version the pointer is in.
//  9. Undo records are never overwritten before purge, also those popped by a rollback: a reader may be on its way through
//     them. What a rollback popped is not in the chain of its transaction, and only the chain is purged.
//  10. Undoing and purging are idempotent: an entry is touched only while it carries the transaction's id and the record's
//     pointer, a chain's first page in a record moves on with every group that frees some of it, and dropping a space that
//     is gone is no error.
//  11. No error path leaves a group with edits uncommitted: what can fail comes first.
//
// # A transaction
//
//	Begin ──first write: slot, id──▶ active ──Commit: end record, wait──▶ ended ──purge──▶ gone
//	                                   │                                    ▲
//	                                   ├──Rollback: undoLast…, end record───┤
//	                                   └──crash, or undo failed──▶ loser ───┘  (background; writers restore what they meet)
//
// # Cell of a leaf entry (a version)
//
//	0 flags u8 (versionDeleted, versionLarge, versionFirst) · 1 txid u64 · 9 undo u64, its own record, with the version before · 17 value
//
// The undo pointer of a bulk-loaded version is the record written last before it. Pointers of one transaction order its versions in
// time (writer.wrote), which is how a read passes over those from a savepoint on. 0, for none, comes from earlier programs.
// The value of a large version is a reference: length u64, first overflow page u32 in the tree's space.
//
// # Undo directory, page 2 of the undo space
//
//	24 idHigh u64, no id from here on was given out · 32 slots u32 · 36 nextSpace u32
//	64 + 16*i slot i: 0 head page u32 · 4 head offset u16 · 6 zero u16 · 8 tail page u32 · 12 first page u32, 0 = the head page
//
// A slot is a run of undo pages used by one write transaction at a time. The head moves in memory with every purged
// transaction, but in the directory only when pages are freed: purging some again after a crash does no harm (rule 10). It
// moves there before the first page is freed: a transaction behind it never has records in pages that are gone. The pages
// from the first up to the head are purged and still to be freed. The prev link of the first page means nothing.
package txn
