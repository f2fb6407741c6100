// Package slowlogd serves the slow query log of a running server over HTTP, from the file, through every way of rotating it.
//
// It knows files, how they are rotated, and clients that come, stall and come back. It does not know what a statement means, and
// it never talks to the database server.
//
// # Rules
//
//  1. One follower watches the files. It alone decides where a file ends and which one is next, and publishes how far whole
//     entries reach. Clients read the files themselves, up to there, so that a slow one holds up nobody.
//  2. A file is left when it was read to its end, a newer one exists and has something in it (a server closes the old file before
//     it writes the new one), and a grace period is over; or at once when there are two newer ones.
//  3. The files between are found by their names: "log.2" is older than "log.1", "log-20260102" is newer than "log-20260101".
//  4. A file is known by a fingerprint of its first bytes, so that a token is good for it under another name, for a copy of it,
//     and for the compressed file.
//  5. A file that became shorter, or whose last bytes before the reading position are no longer what they were, was truncated: it
//     ends where it was read to, or where its copy ends if there is one, and another one begins in its place.
//  6. A stream begins, ends, skips and is commented between entries only.
//  7. What a client did not get is told in its stream and in its status, in entries and bytes, to the last one. What nobody can
//     know, bytes that were written and truncated between two looks, is told as possible.
//  8. Memory is bounded per client: one buffer, and the longest entry where entries are looked into.
package slowlogd
