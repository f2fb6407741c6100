package hearth

import (
	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/txn"
	"github.com/hearthdb/hearth/internal/wal"
)

// PageSize is the unit of I/O and of the pool, in bytes.
const PageSize = page.Size

// Stats are figures for the operator, counted since Open. They are not read at one moment.
type Stats struct {
	Pool  pool.Stats     // pages
	Log   wal.Stats      // bytes and groups
	Txn   txn.Stats      // transactions
	Files datafile.Stats // I/O by class

	CheckpointAge    int64 // bytes of log behind the checkpoint
	OpenTransactions int64
}

// Stats takes a look around. It walks over the descriptors of all pages.
func (db *DB) Stats() Stats {
	if db.closed.Load() {
		return Stats{}
	}
	return Stats{
		Pool: db.pool.Stats(), Log: db.log.Stats(), Txn: db.txns.Stats(), Files: db.files.Stats(),
		CheckpointAge: db.checkpointer.Age(), OpenTransactions: db.openTransactions(),
	}
}
