package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
)

var _ gms.TruncateableTable = (*Table)(nil)

// Truncate implements gms.TruncateableTable: the table gets new, empty trees. It is TRUNCATE TABLE only: GMS would make one of DELETE
// without a condition too, but the table of a DELETE is a locked one, which has no Truncate. Like MySQL it does not count the rows.
func (t *Table) Truncate(ctx *gms.Context) (int, error) {
	return 0, t.alter(ctx, func(a *alteration) (err error) {
		if a.rec.Storage, err = a.backend.dict.NewID(); err != nil {
			return err
		}
		if a.rec.Counter != 0 {
			if a.rec.Counter, err = a.backend.dict.NewID(); err != nil {
				return err
			}
			a.rec.CounterStart = 0
		}
		if a.old.keyless() {
			if err := a.backend.keepRowIDs(a.old, a.tx, 0); err != nil {
				return err
			}
		}
		if err := dropTrees(a.tx, a.old.rec); err != nil {
			return err
		}
		if err := createTrees(a.tx, a.rec); err != nil {
			return err
		}
		return a.put()
	})
}
