// Package lock decides who may write or lock a key, who waits, and who gives up.
//
// It knows owners, keys, modes and time. It does not know what a transaction is, what is stored under a key, nor
// that most writers never come here: the id in a leaf entry is a writer's lock as long as nobody waits for it. Only a
// waiter makes that lock explicit, by Grant.
//
// # Rules
//
//  1. A request is granted when it conflicts with no grant of another owner, and nobody queues before it. An
//     owner that holds a grant on the key already does not queue behind strangers (upgrades go to the front).
//  2. Whoever the caller calls holder (the writer of the entry, seen under the leaf's latch) gets its exclusive grant
//     unconditionally. Therefore two grants of one key may conflict; of those, the one whose owner looked at the
//     entry under the latch and found it free of other writers is the real one. Any other holder of a grant finds the
//     writer when it looks, calls Acquire again, and waits for it by rule 1.
//  3. Grants are held until Release, which is the end of the owner. After it the owner takes no more locks, so
//     Grant to it fails, and the caller looks at the entry again.
//  4. An owner waits for at most one request.
//  5. Whoever adds an edge to the graph of waiting looks for the cycles through it at once, under one mutex. The
//     youngest owner of a cycle gives up; those who only stand in a queue between two others of it are spared.
//
// Lock order: Manager.graph, then one shard, then one Owner.mu; Manager.stats last.
package lock
