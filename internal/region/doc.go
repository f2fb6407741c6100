// Package region is the memory that outlives the process: page frames, a descriptor for each, and the log
// ring, in one file of a tmpfs that the next start maps again.
//
// It knows where bytes lie, and whether they may be a former life's. It does not know what a page or a log
// group means, who uses a frame, or whether the database ran elsewhere meanwhile: recovery decides that and
// calls Discard. Nothing here is the only copy of anything, save what the operator chose to acknowledge from
// memory.
//
// # Rules
//
//  1. Only data lies in the file: no pointer, no lock, no Go value. Native byte order.
//  2. Nothing read from the file is believed before it is checked. What fails goes, with one log line.
//  3. A descriptor's ID, LSN, First and State, and the bytes of its page, change only between Begin and End.
//  4. No byte is touched before it is reserved: a full tmpfs is an error, never a SIGBUS.
//  5. The header counts only frames that are reserved and described. Growing reserves, then counts;
//     shrinking counts, then gives back. So a death in between leaves only bytes to give back.
//  6. The magic is written last. A file without it is an unfinished creation and holds nothing.
//  7. One process holds the file: an exclusive flock, on the very inode that the path names.
//  8. When the ring is not valid it is all zero, so no group of another life can follow one of this.
//  9. SetDurable returns before the ring bytes below the LSN are written over.
//
// # Contents
//
// The state slot says what the file holds. Discard and Ready move between the rows; BeginAttach only counts.
//
//	frames  ring   after                                         at the next Open
//	no      no     creation, Discard that drops the ring          attached, ring zeroed, all frames free
//	no      yes    Discard that keeps the ring                    attached, all frames free
//	yes     yes    Ready                                          attached
//	yes     no     never                                          thrown away: damaged header
package region
