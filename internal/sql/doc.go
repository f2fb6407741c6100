// Package sql puts tables on the trees of hearth for go-mysql-server (GMS): databases, tables, indexes, transactions and
// statements as users of MySQL know them.
//
// It knows GMS, the dictionary and the encodings of rows and keys. It does not know connections, the wire protocol or how a
// failure is told to a client.
//
// # Rules
//
//  1. A table value holds one version of a table's definition and no session. The session comes with the context of each call, so
//     a value may be planned in one session and be cached.
//  2. Rows and index entries of a table are read and written in one engine transaction, the session's. It begins at the first
//     access to data; GMS opens transactions for statements that touch none.
//  3. A table that a statement names is locked (shared, in the dictionary's lock table) before its definition is read, and stays
//     locked until the transaction ends. So no transaction sees a table change under it.
//  4. A statement that writes does not see what it writes: all its scans see the transaction's own writes up to where the first of
//     them began (editScope). Editors, unique checks and lookups for foreign keys see the latest state.
//  5. A range of GMS has an interval for each column. The leading columns make an interval of keys; every other one is checked on
//     the encoded entry, because GMS drops the filters that a range stands for.
//  6. A locking scan finds candidates in the latest committed state, locks the row, and then asks whether the row, as it is now,
//     still belongs to the range.
//  7. A row given to GMS is its receiver's for good: no slice of it is used again, no value aliases a page.
//  8. A statement that fails leaves nothing behind: it is undone to where it first wrote.
//  9. What is read while planning is a map lookup, or now and then an estimate from the two edges of a tree. There is no wait other
//     than that of rule 3.
package sql
