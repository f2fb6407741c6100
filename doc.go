// Package hearth is a transactional storage engine whose restarts are non-events: its pages, changed ones too, lie in
// memory that outlives the process.
//
// There are only a few types: a DB is a directory and the memory over it; a Tx is a transaction; a Tree is an ordered
// map of byte strings as a transaction sees it; a Cursor walks a Tree.
//
//	db, err := hearth.Open(ctx, "data", nil)
//	...
//	err = db.Update(ctx, func(tx *hearth.Tx) error {
//		t, err := tx.CreateTree("people")
//		if err != nil {
//			return err
//		}
//		return t.Put([]byte("ada"), []byte("1815"))
//	})
//
// # What a caller may rely on
//
//   - Acknowledged means kept. A Commit that returned nil survives kill -9 of the process, and with DurabilityCommit,
//     the default, a power cut.
//   - A transaction sees one snapshot (repeatable read, the default) or one snapshot a statement (read committed).
//     Readers never wait. Writers read what is committed last, under row locks, as users of MySQL know it: they wait,
//     they do not abort and retry, save for deadlocks and timeouts.
//   - A DB may be used by many goroutines, a Tx and what belongs to it by one at a time.
//   - Byte slices that a function returns are the caller's, unless its comment says otherwise; those it is given it
//     does not keep.
package hearth
