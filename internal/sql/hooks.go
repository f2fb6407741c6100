package sql

import gms "github.com/dolthub/go-mysql-server/sql"

// temporaryTable of the session.
func (d *Database) temporaryTable(*Session, string) (gms.Table, bool) { return nil, false }
