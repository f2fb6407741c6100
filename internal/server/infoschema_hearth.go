package server

import (
	"encoding/json"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// place of a tree of the engine in the definitions: a table's rows, or one of its indexes.
type treeOwner struct{ schema, table, index string }

// treeOwners of all trees that the committed definitions name. Trees of dropped tables, which readers of older snapshots still
// see, have none.
func (s *Server) treeOwners() map[string]treeOwner {
	owners := map[string]treeOwner{}
	for _, db := range s.backend.Dict().Schema().Databases() {
		for _, t := range db.Tables() {
			owners[t.RowTree()] = treeOwner{db.Name, t.Name, "PRIMARY"}
			for _, x := range t.Indexes {
				owners[t.IndexTree(x.ID)] = treeOwner{db.Name, t.Name, x.Name}
			}
		}
	}
	return owners
}

// columns of an owner; NULL if there is none.
func (o treeOwner) values() (schema, table, index any) {
	if o == (treeOwner{}) {
		return nil, nil, nil
	}
	return o.schema, o.table, o.index
}

// hearthTables tell of pages, warmth, the last start and the log.
func (s *Server) hearthTables() []*infoTable {
	return []*infoTable{
		{name: "HEARTH_POOL_BY_TREE", columns: gms.Schema{textColumn("TREE"), textColumn("TABLE_SCHEMA"), textColumn("TABLE_NAME"),
			textColumn("INDEX_NAME"), numberColumn("PAGES"), numberColumn("DIRTY_PAGES"), numberColumn("BYTES"), numberColumn("RECENT_HITS"), idColumn("SPACE")},
			rows: s.poolByTree},
		{name: "HEARTH_WARMTH", columns: gms.Schema{textColumn("STATE"), textColumn("FILE"), textColumn("ERROR"), timeColumn("STARTED"),
			realColumn("SECONDS"), numberColumn("PAGES_TOTAL"), numberColumn("PAGES_LOADED"), numberColumn("PAGES_PRESENT"),
			numberColumn("PAGES_GONE"), numberColumn("PAGES_NO_ROOM"), numberColumn("PAGES_FAILED"), numberColumn("PAGES_LEFT"),
			numberColumn("PAGES_AROUND"), numberColumn("BAND"), numberColumn("BANDS"), numberColumn("BYTES_READ"), numberColumn("READS"),
			realColumn("BYTES_PER_SECOND"), realColumn("SECONDS_LEFT"), textColumn("DEVICE_BOUND"), realColumn("DEVICE_IOPS"),
			realColumn("DEVICE_BYTES_PER_SECOND"), numberColumn("PREWARMED_PAGES"), numberColumn("PREWARMED_USED"),
			numberColumn("PREWARMED_UNUSED"), numberColumn("PREWARMED_EVICTED_UNUSED"), numberColumn("PREWARMED_HITS"),
			textColumn("LAST_DUMP_FILE"), timeColumn("LAST_DUMP_AT"), numberColumn("LAST_DUMP_PAGES"), realColumn("LAST_DUMP_SECONDS"),
			textColumn("DUMP_WITHHELD"), textColumn("DUMP_ERROR")},
			rows: s.warmthRow},
		{name: "HEARTH_START_REPORT", columns: gms.Schema{textColumn("KIND"), textColumn("WHY"), timeColumn("AT"), realColumn("SECONDS"),
			idColumn("INCARNATION"), numberColumn("POOL_FRAMES"), textColumn("POOL_SHORT"), textColumn("MEMORY_SURVIVES"),
			idColumn("CHECKPOINT_LSN"), idColumn("LOG_END_LSN"), numberColumn("RING_BYTES"), numberColumn("REDO_PAGES"),
			numberColumn("REDO_BYTES"), numberColumn("TORN_PAGES"), numberColumn("LOSERS"), numberColumn("ORPHAN_FILES"),
			textColumn("PHASES"), textColumn("FRAMES")},
			rows: s.startRow},
		{name: "HEARTH_LOG", columns: gms.Schema{idColumn("CURRENT_LSN"), idColumn("WRITTEN_LSN"), idColumn("DURABLE_LSN"),
			idColumn("CHECKPOINT_LSN"), numberColumn("CHECKPOINT_AGE"), numberColumn("CAPACITY"), idColumn("GROUPS_APPENDED"),
			idColumn("BYTES_APPENDED"), idColumn("BYTES_WRITTEN"), idColumn("WRITES"), idColumn("SYNCS"), realColumn("SYNC_SECONDS"),
			idColumn("COMMIT_WAITS"), idColumn("RING_FULL_WAITS"), idColumn("SEGMENT_WAITS"), numberColumn("SEGMENTS"),
			idColumn("SEGMENTS_MADE"), idColumn("SEGMENTS_RECYCLED")},
			rows: s.logRow},
	}
}

func (s *Server) poolByTree(*gms.Context) (rows []gms.Row, err error) {
	owners := s.treeOwners()
	for _, t := range s.db.PoolByTree() {
		schema, table, index := owners[t.Tree].values()
		rows = append(rows, gms.Row{t.Tree, schema, table, index, int64(t.Pages), int64(t.Dirty), int64(t.Pages) * hearth.PageSize, t.Hits, uint64(t.Space)})
	}
	return rows, nil
}

func (s *Server) warmthRow(*gms.Context) ([]gms.Row, error) {
	w := s.db.Warmth().Status()
	row := gms.Row{string(w.State), orNull(w.File), orNull(w.Error), moment(w.Started), w.Took.Seconds(), w.Total, w.Loaded, w.Present,
		w.Gone, w.NoRoom, w.Failed, w.Left, w.Around, int64(w.Band), int64(w.Bands), w.BytesRead, w.Reads, w.BytesPerSecond, w.SecondsLeft,
		orNull(string(w.Device.Bound)), w.Device.IOPS, w.Device.BytesPerSecond, w.Accounting.Pages, w.Accounting.Used, w.Accounting.Unused,
		w.Accounting.EvictedUnused, w.Accounting.Hits}
	if d := w.LastDump; d != nil {
		row = append(row, d.File, moment(d.At), d.Pages, d.Took.Seconds())
	} else {
		row = append(row, nil, nil, nil, nil)
	}
	return []gms.Row{append(row, orNull(w.DumpWithheld), orNull(w.DumpError))}, nil
}

func (s *Server) startRow(*gms.Context) ([]gms.Row, error) {
	r := s.db.StartReport()
	phases, err := json.Marshal(r.Phases)
	if err != nil {
		return nil, err
	}
	frames, err := json.Marshal(r.Frames)
	if err != nil {
		return nil, err
	}
	return []gms.Row{{string(r.Kind), orNull(r.Why), moment(r.At), r.Took.Seconds(), r.Incarnation, int64(r.PoolFrames), orNull(r.PoolShort),
		yes(r.Survives), r.Checkpoint, r.LogEnd, r.RingBytes, int64(r.RedoPages), r.RedoBytes, int64(r.TornPages), int64(r.Losers),
		int64(r.OrphanFiles), string(phases), string(frames)}}, nil
}

func (s *Server) logRow(*gms.Context) ([]gms.Row, error) {
	st := s.db.Stats()
	l := st.Log
	return []gms.Row{{uint64(l.Tail), uint64(l.Written), uint64(l.Durable), st.CheckpointLSN, st.CheckpointAge, st.LogCapacity, l.Groups,
		l.Appended, l.WrittenBytes, l.Writes, l.Syncs, l.SyncTime.Seconds(), l.Waits, l.RingFull, l.SegmentWaits, int64(l.SegmentsLive),
		l.SegmentsMade, l.SegmentsRecycled}}, nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// moment is a time as a value, in the zone of the server as all times of information_schema; NULL if it is none.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Local()
}
