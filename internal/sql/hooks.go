package sql

import gms "github.com/dolthub/go-mysql-server/sql"

// temporaryTable of the session.
func (d *Database) temporaryTable(*Session, string) (gms.Table, bool) { return nil, false }

// setCollation changes the database's default collation.
func (d *Database) setCollation(*gms.Context, gms.CollationID) error {
	return gms.ErrUnsupportedFeature.New("ALTER DATABASE")
}
