// Package file is the only place that touches a disk: the real one, and one in memory that can be crashed.
//
// It knows names, bytes and when they are durable. It does not know what a page, a log or a database is.
//
// # Rules
//
//  1. A write is durable after a Sync of its file that began after it returned, and not before; so is a file's length.
//  2. A name is durable after a SyncDir of its directory: creation, renaming and removal alike. Syncing the file does not do it.
//  3. A Sync that failed is never repeated over the same bytes: the kernel may have dropped them and would answer "fine".
//  4. A file opened Direct takes offsets, lengths and memory in multiples of Alignment. AlignedBuf gives such memory.
//  5. ReadAt at the end of the file follows io.ReaderAt: fewer bytes come with io.EOF.
//  6. Every error names the file and what was done to it, and still answers to errors.Is(err, fs.ErrNotExist), ENOSPC and so on.
//  7. Calls on one File may run at the same time. A Close waits for those that run; later ones get fs.ErrClosed.
//  8. When the process has died, nothing of what it had begun changes a file or memory that others have mapped.
//
// Reads of files opened Direct go through io_uring where the kernel lets us (see ring), else through pread. HEARTH_IO_URING=off
// in the environment keeps io_uring from being used.
package file
