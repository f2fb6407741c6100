// Package recovery decides what is true after a death, and keeps what the next decision needs.
//
// It knows the control file, the log, the files and what survived in memory, and brings them
// to one state: every page as the log says. It does not know what pages mean: trees and
// transactions are mended later, by the code that changes them at other times (package txn).
//
// # Rules
//
//  1. Analyze changes nothing. What it finds is a Plan, a value; Apply carries it out.
//  2. There is one way back to a page: its image in the file, or zeroes, and its records of
//     the kept log in order (replay). Redo on first touch, redo of the rest behind it, and Repair are it.
//  3. All edits a group has for a page are applied, or none: a page whose LSN is at or above
//     the group's end has them.
//  4. The checkpoint never passes a change that is only in memory or in the log. While the
//     plan has pages to redo it does not move, and the control file says that there are some before
//     the frames of those pages are given up: a death in between must not forget them.
//  5. The region is believed only if nobody ran the database without it since: its nonce, of
//     the last life or of the last attempt, is the control file's. Frames whose descriptors
//     contradict themselves are not believed, none of them; the ring speaks for itself.
//  6. The ring is finished into the log before anything else is done, so that an attempt that
//     fails later loses nothing that was acknowledged.
package recovery
