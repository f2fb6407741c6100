// Package datafile reads and writes pages in the files of the spaces, never torn, in the order of who is waiting.
//
// It knows page ids, files and their room on the disk, and who asks. It does not know what is on a page, which pages
// are in memory, or what the log has: the log must be durable up to a page's LSN before the page comes here.
//
// # What is stored where
//
//	<dir>/spaces/<space, %08x>.hs   page n of the space at n*16 KiB; beyond the end all is zero
//	<dir>/doublewrite               the last few batches of pages; see doublewrite.go
//
// # Rules
//
//  1. When WritePages returns nil its pages are durable. When it returns an error any of them may be, none is torn
//     once RestoreTorn has run.
//  2. A page is in at most one WritePages at a time.
//  3. Nothing is written before the end of RestoreTorn: it reads what the next batch would overwrite.
//  4. A home page is written only when a crash cannot tear it: by one atomic write, or after its image is durable in a slot
//     of the doublewrite file, which is not reused before the home page is durable.
//  5. Slots are reused in the order in which they became free. So, by rule 2, an image on the disk is the newest of its page
//     or a newer one is there too, and restoring never turns a page back.
//  6. After a home write or a sync failed nothing is written any more: by rule 4 the slot must stay, and a sync is never
//     repeated (file, rule 3). Reading goes on.
//  7. ReadPage proves nothing about the bytes: checksums are for whoever can do something about them.
//  8. Memory given to this package is aligned to file.Alignment.
//  9. A page that is to be written is told to be gone with its space only when the name of the file is durably gone. Else a
//     checkpoint may pass what was not written, and a power cut bring the file back to a log that does not fit it.
package datafile
