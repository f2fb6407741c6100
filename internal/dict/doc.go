// Package dict is the data dictionary: which databases, tables, views, triggers, procedures, events, persisted variables and
// users there are. It keeps them in a tree of the engine, under the transactions of the engine, so that a definition and the
// trees it names change together or not at all. It also holds what guards definitions (metadata locks) and what belongs to them
// and must not roll back (AUTO_INCREMENT counters).
//
// It does not know SQL: expressions are text, statements are text. It does not know rows, nor sessions, nor what a column's value
// looks like; it names the trees of a table but neither makes nor drops them.
//
// # Rules
//
//  1. A Schema and everything it leads to is immutable. Who wants another table clones one, changes the clone and puts it.
//  2. What a picture shows is what was stored: a put encodes the definition, decodes it again and shows the result, so a restart
//     finds nothing else.
//  3. A change of a definition is written through the engine transaction that also makes or drops its trees.
//  4. Order of the end of a change: the engine transaction commits, then Change.Committed publishes, then the exclusive metadata
//     locks go. In between nobody else may look at the definition, for the picture is still the old one and the trees are new.
//     Who holds no lock on a name may look at its definition at any time, and must look again after it got the lock.
//  5. Publishing applies the change's own steps to the picture of that moment. It never replaces the picture by the one the change
//     began with: changes of different tables run side by side, and both are kept.
//  6. Two changes of one name are kept apart twice: by the exclusive metadata lock, and by the engine, where every name is a key
//     that is inserted, and every record is locked before it is replaced and must be the one the change has seen.
//  7. Ids (of databases, tables, indexes, storage, counters, versions) come from NewID and are never used again, whatever rolls
//     back or dies. So a cache keyed by Table.Version needs no invalidation.
//  8. No value of AUTO_INCREMENT is handed out before the log has the reservation that covers it; see counter.go.
//  9. Metadata locks have rules of their own; see locks.go. Locks go in order of names when a statement needs several exclusively.
package dict
