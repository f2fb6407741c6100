// Package btree is a B+tree of pages: keys in order, opaque values.
//
// It knows pages, their latches and where free ones come from. It does not know what a value
// means, nor what a transaction is: it has no locks beyond latches, and no versions.
//
// # Rules
//
//  1. The root is page 2 of its space for the life of the tree.
//  2. A page's keys k satisfy low <= k < high, its fences (Graefe, "Write-optimized B-trees",
//     VLDB 2004). The fences of the children of an inner page tile the page's own range: child
//     i begins at key i and ends where child i+1 begins, or at the page's high fence. Key 0 of
//     an inner page is its low fence; the empty key where there is none.
//  3. There are no links between siblings. Whoever leaves a leaf goes down again for its fence.
//     So latches are taken from the root down only.
//  4. A change of shape (split, merge, a new root) is one group: no reader and no crash sees
//     half of it.
//  5. Readers go down optimistically: a child's number is believed after the child was peeked
//     and the parent then had not changed (optimistic lock coupling: Leis et al., "The ART of
//     Practical Synchronization", DaMoN 2016).
//  6. A writer takes only the leaf's latch, and checks kind and fences after it has it. Shape
//     changes go down again, holding latches from the lowest page that cannot be affected.
//
// # Differences to the papers
//
// No Foster parents and no B-link right links: a split has its parent latched, which is rare
// enough, and readers never wait for it, they try again. Leaves are merged when they fall
// below a quarter, not half: purge of a busy table would otherwise split and merge in turn.
package btree
