// Package pool keeps pages in memory and decides which ones stay.
//
// It knows page ids, frames, pins and latches, and that a change is logged before it is
// written back. It does not know what a file is (pages come from a Source and return to it),
// nor what a tree is.
//
// # Rules
//
//  1. Nobody touches a page's bytes without a pin, save an optimistic reader (Peek), who
//     believes nothing until End says that the version did not move.
//  2. Reading needs the latch shared; changing needs it exclusive.
//  3. A page is written back only after the log is durable up to its LSN.
//  4. Which page a frame holds changes only while nobody pins it, under an odd version.
//  5. No latch is held across a wait for the log's durability or for a row lock. Waiting for
//     room in the log ring is allowed: the log writer takes no latch.
//  6. A page is odd before its first byte changes, and all pages of a group stay odd until the
//     whole group is in the ring; then LSNs are set, then they turn even, then latches go.
//  7. First is never later than the start of the first group since write-back, so the least
//     First of all frames bounds the checkpoint from above.
//
// # Latch order
//
// Tree pages from the root down, then undo pages, then the undo directory, then bitmap pages
// by ascending id. Inside the pool: a frame's latch, then the replacement lock, then a table
// stripe; the last two are never held across anything that waits.
//
// # Life of a frame
//
//	to come (the region has not reserved it yet, see grow) ──▶ free
//	free ──take──▶ loading ──read ok──▶ ready ──evict──▶ free
//	                  └──read failed──▶ free
//	unverified (survivor of a restart) ──first touch──▶ ready, or read again
package pool
