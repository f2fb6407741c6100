// Package page is the 16 KiB page: its header, its layouts, and the edits that change it.
//
// It knows bytes. It does not know files, memory that is shared, trees of pages or
// transactions: a page is a value, and an edit is a value that turns one page into the next.
//
// # Rules
//
//  1. Apply is pure, total and deterministic: the same page and edit give the same page, on
//     any machine, and hostile bytes give an error, never a panic. Redo is Apply, and so is
//     the first change: there is no second way to change a page.
//  2. An edit never touches sum, id or LSN. The LSN is set by whoever ends a group, the sum by
//     whoever writes the page out.
//  3. Functions that read a page are total too. They may be handed bytes that are changing
//     under them (an optimistic read) and answer nonsense then, but they stay inside the page.
//  4. Check proves a page's structure. What it accepts, every other function handles.
//
// # Header, little endian, every kind of page
//
//	 0  sum    u32  CRC32C (Castagnoli) of bytes [4, Size)
//	 4  kind   u8   Kind
//	 5  level  u8   inner pages: height above the leaves
//	 6  format u16  Format
//	 8  id     u64  space << 32 | page number
//	16  lsn    u64  end of the last group that changed the page
//	24         40 bytes by kind, see slotted.go, undo.go, bits.go, overflow.go
//	64         content
//
// A page of zeroes is one that was never written; it is valid.
package page
