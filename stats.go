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
	Syncs datafile.Syncs // of data files

	CheckpointLSN    uint64 // no record before it is needed
	CheckpointAge    int64  // bytes of log behind the checkpoint
	LogCapacity      int64  // Options.LogSize: the most CheckpointAge may reach, in bytes
	OpenTransactions int64
}

// Stats takes a look around. It walks over the descriptors of all pages.
func (db *DB) Stats() Stats {
	if db.closed.Load() {
		return Stats{}
	}
	s := Stats{
		Pool: db.pool.Stats(), Log: db.log.Stats(), Txn: db.txns.Stats(), Files: db.files.Stats(), Syncs: db.files.Syncs(),
		CheckpointLSN: uint64(db.checkpointer.LSN()), LogCapacity: db.opts.LogSize, OpenTransactions: db.openTransactions(),
	}
	s.CheckpointAge = int64(s.Log.Tail) - int64(s.CheckpointLSN)
	return s
}
