// Package wal is the log: groups of edits in one endless row of bytes, in a ring in memory first and in segment files after.
//
// It knows positions, groups, segments, and which pages a group names. It does not know what an edit does (two questions
// aside: which page, which transaction), what a pool is, or when a group may be forgotten: its callers say so with SetKeep.
//
// # Words
//
// An LSN is a position in the endless log; the first group starts at FirstLSN. A group is what Append takes: it is in the
// log whole or not at all. Tail is the end of the last group appended, written the end of what the files were given,
// durable the end of what the disk has promised to keep.
//
// # Rules
//
//  1. freed <= durable <= written <= tail, and all but freed are ends of groups. Only the writer goroutine moves the first
//     three; only Append, under its mutex, moves tail.
//  2. Bytes of the ring below tail never change until freed has passed them. So the writer reads them without a lock, and
//     locks no appender out while it writes.
//  3. freed lies at the start of a block, so that the block in which durable lies can be written again.
//  4. OnDurable(lsn) returns before the bytes below lsn may be overwritten: whoever finds the ring after a death finds the
//     group that starts at the last durable LSN he was told.
//  5. Whatever lies at the tail is not the start of a group: Append zeroes the 8 bytes behind what it writes, every write
//     of files ends in zeroes, and the first block of a fresh segment is zero. So a reader may start at any durable end.
//  6. Behind the tail may lie whole groups of an earlier life (a hole ate what came before them). The incarnation never falls along
//     the log, and every life has a greater one than all before it, so they are never taken for a continuation.
//  7. What a reader found and a life builds on is durable before anything is appended behind it: Open syncs it.
//  8. A failed write or sync is the end of the Log: OnFatal is called once, everyone who waits or comes later gets ErrDead,
//     and no sync is ever repeated.
//  9. A segment with a byte at or above SetKeep's LSN is never recycled, nor one whose index is being built or read.
//  10. Indexes are a cache of their segments: missing or damaged, they are built again. One is written only when
//     everything it tells of is durable.
package wal
