// Package heat keeps the list of wanted pages on the disk, and loads it after a start that found no memory.
//
// It knows page ids, how hot they are, free frames and how the disk answers. It does not know trees, transactions or the log,
// nor what a page holds, and it is never in the way of correctness: a dump may be missing, old, damaged, or be ignored.
//
// # The dump file
//
// All numbers are big endian.
//
//	offset  size
//	     0     8  magic "HEARTHHD"
//	     8     4  version, 1
//	    12     4  page size, bytes
//	    16    16  uuid of the database
//	    32     8  LSN: end of the log when the dump was made
//	    40     8  wall time, nanoseconds since 1970
//	    48     8  frames of the pool
//	    56     8  count of pages
//	    64     4  bands
//	    68     4  zero
//	    72  16*b  band table, from hot to cold: heat u32 (the least in the band), zero u32, count u64
//	     …   8*n  page ids: space u32, page number u32; band by band, ascending inside a band
//	     …     4  CRC32C of all before
//
// Heats fall from band to band; no band is empty. A page that moved while the dump was made may be in two bands; the hotter one
// counts.
//
// # Rules
//
//  1. A dump replaces another whole or not at all: temporary file, sync, rename, sync of the directory.
//  2. What a dump costs others is bounded: no latch is held, and the work is done in slices of microseconds.
//  3. An automatic dump is withheld while it could replace a good one by the list of a pool that is not warm yet (see withheld),
//     and one that somebody asks for removes none of the good ones then.
//  4. A load fills free frames only. It evicts nothing, and leaves those frames alone that the cleaner keeps free for misses.
//  5. Each page of the dump ends with exactly one outcome, so that the counts of Status add up at every moment.
//  6. A load comes after everybody who waits for a page, but gets its floor. It learns what the disk can do by watching it
//     (package datafile, governor).
package heat
