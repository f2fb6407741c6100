package server

import (
	"encoding/hex"
	"strings"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// locksListed is how many rows with locks HEARTH_LOCKS shows at most.
const locksListed = 10_000

// lockTables tell of transactions, and of rows they lock and wait for.
func (s *Server) lockTables() []*infoTable {
	return []*infoTable{
		{name: "HEARTH_TRANSACTIONS", process: true, columns: gms.Schema{idColumn("TRX_ID"), idColumn("CONNECTION_ID"), textColumn("USER"),
			textColumn("HOST"), textColumn("STATE"), textColumn("ISOLATION_LEVEL"), textColumn("READ_ONLY"), timeColumn("STARTED"),
			realColumn("SECONDS"), textColumn("HOLDS_SNAPSHOT"), numberColumn("ROWS_CHANGED"), numberColumn("ROWS_LOCKED"),
			textColumn("WAITS_FOR_SCHEMA"), textColumn("WAITS_FOR_TABLE"), textColumn("WAITS_FOR_INDEX"), realColumn("WAIT_SECONDS"),
			textColumn("QUERY")},
			rows: s.transactionRows},
		{name: "HEARTH_LOCKS", process: true, columns: gms.Schema{textColumn("TABLE_SCHEMA"), textColumn("TABLE_NAME"), textColumn("INDEX_NAME"),
			textColumn("TREE"), textColumn("LOCK_KEY"), idColumn("TRX_ID"), idColumn("CONNECTION_ID"), textColumn("MODE"), textColumn("GRANTED")},
			rows: s.lockRows},
		{name: "HEARTH_LOCK_WAITS", process: true, columns: gms.Schema{idColumn("WAITING_TRX_ID"), idColumn("WAITING_CONNECTION_ID"),
			idColumn("BLOCKING_TRX_ID"), idColumn("BLOCKING_CONNECTION_ID"), textColumn("TABLE_SCHEMA"), textColumn("TABLE_NAME"),
			textColumn("INDEX_NAME"), textColumn("LOCK_KEY"), textColumn("MODE"), timeColumn("SINCE"), realColumn("SECONDS"),
			textColumn("WAITING_QUERY"), textColumn("BLOCKING_QUERY")},
			rows: s.lockWaitRows},
	}
}

// session is what others may know of a connection: who it is, and its statement, if one runs.
func (s *Server) sessionOf(connection uint64) (user, host, query any) {
	cl := s.clients.get(uint32(connection))
	if cl == nil {
		return nil, nil, nil
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.mu.running != nil {
		query = cl.mu.running.text
	}
	return cl.mu.user, cl.mu.host, query
}

func (s *Server) transactionRows(*gms.Context) (rows []gms.Row, err error) {
	owners := s.treeOwners()
	for _, t := range s.db.Transactions() {
		user, host, query := s.sessionOf(t.Tag)
		var schema, table, index, waited any
		if t.Wait != nil {
			schema, table, index = owners[t.Wait.Tree].values()
			waited = since(t.Wait.Since)
		}
		var seconds any
		if !t.Began.IsZero() {
			seconds = since(t.Began)
		}
		rows = append(rows, gms.Row{numberOrNull(t.ID), numberOrNull(t.Tag), user, host, t.State.String(), isolationName(t.Isolation),
			yes(t.ReadOnly), moment(t.Began), seconds, yes(t.Snapshot), t.Changes, int64(t.Locks), schema, table, index, waited, query})
	}
	return rows, nil
}

func (s *Server) lockRows(*gms.Context) (rows []gms.Row, err error) {
	owners := s.treeOwners()
	for _, l := range s.db.Locks(locksListed) {
		schema, table, index := owners[l.Tree].values()
		for _, h := range l.Holders {
			rows = append(rows, gms.Row{schema, table, index, l.Tree, hex.EncodeToString(l.Key), numberOrNull(h.ID), numberOrNull(h.Tag),
				h.Mode.String(), yes(h.Granted)})
		}
	}
	return rows, nil
}

func (s *Server) lockWaitRows(*gms.Context) (rows []gms.Row, err error) {
	owners := s.treeOwners()
	for _, w := range s.db.LockWaits() {
		schema, table, index := owners[w.Tree].values()
		_, _, waiting := s.sessionOf(w.Waiter.Tag)
		for _, b := range w.Blockers {
			_, _, blocking := s.sessionOf(b.Tag)
			rows = append(rows, gms.Row{numberOrNull(w.Waiter.ID), numberOrNull(w.Waiter.Tag), numberOrNull(b.ID), numberOrNull(b.Tag), schema,
				table, index, hex.EncodeToString(w.Key), w.Mode.String(), moment(w.Since), since(w.Since), waiting, blocking})
		}
	}
	return rows, nil
}

// numberOrNull: a transaction without a number, or of no connection.
func numberOrNull(n uint64) any {
	if n == 0 {
		return nil
	}
	return n
}

func isolationName(i hearth.Isolation) string {
	if i == hearth.ReadCommitted {
		return "READ COMMITTED"
	}
	return "REPEATABLE READ"
}

// innodbTables fill those of GMS's tables of InnoDB of which something true can be said. Columns nobody knows are NULL.
func (s *Server) innodbTables(base gms.Database) []*infoTable {
	fill := func(name string, process bool, rows func() []map[string]any) *infoTable {
		t, ok, err := base.GetTableInsensitive(gms.NewEmptyContext(), name)
		if err != nil || !ok {
			panic("BUG: information_schema has no " + name)
		}
		columns := t.Schema().Copy()
		for _, c := range columns {
			c.Nullable, c.Default = true, nil
		}
		return &infoTable{name: strings.ToUpper(name), columns: columns, process: process, rows: func(*gms.Context) (list []gms.Row, err error) {
			for _, values := range rows() {
				row := make(gms.Row, len(columns))
				for i, c := range columns {
					if row[i], _, err = c.Type.Convert(gms.NewEmptyContext(), values[strings.ToLower(c.Name)]); err != nil {
						return nil, err
					}
				}
				list = append(list, row)
			}
			return list, nil
		}}
	}
	return []*infoTable{
		fill("innodb_trx", true, s.innodbTrx),
		fill("innodb_metrics", false, s.innodbMetrics),
		fill("innodb_buffer_pool_stats", false, s.innodbPoolStats),
	}
}

func (s *Server) innodbTrx() (rows []map[string]any) {
	for _, t := range s.db.Transactions() {
		_, _, query := s.sessionOf(t.Tag)
		row := map[string]any{"trx_id": t.ID, "trx_state": "RUNNING", "trx_mysql_thread_id": t.Tag, "trx_query": query,
			"trx_started": moment(t.Began), "trx_weight": t.Changes + int64(t.Locks), "trx_rows_locked": t.Locks, "trx_rows_modified": t.Changes,
			"trx_isolation_level": isolationName(t.Isolation), "trx_is_read_only": boolVariable(t.ReadOnly), "trx_operation_state": t.State.String()}
		if t.Wait != nil {
			row["trx_state"], row["trx_wait_started"] = "LOCK WAIT", moment(t.Wait.Since)
		}
		rows = append(rows, row)
	}
	return rows
}

// innodbMetric is a counter by InnoDB's name, and the status value it is.
type innodbMetric struct {
	name, subsystem, kind, status, comment string
}

var innodbMetrics = []innodbMetric{
	{"buffer_pool_size", "server", "value", "", "Pool size in bytes"},
	{"buffer_pool_reads", "buffer", "status_counter", "Innodb_buffer_pool_reads", "Pages read because somebody waited for them"},
	{"buffer_pool_read_requests", "buffer", "status_counter", "Innodb_buffer_pool_read_requests", "Logical reads, estimated from a sample"},
	{"buffer_pool_pages_total", "buffer", "value", "Innodb_buffer_pool_pages_total", "Frames"},
	{"buffer_pool_pages_data", "buffer", "value", "Innodb_buffer_pool_pages_data", "Frames that hold pages"},
	{"buffer_pool_pages_dirty", "buffer", "value", "Innodb_buffer_pool_pages_dirty", "Pages changed and not written"},
	{"buffer_pool_pages_free", "buffer", "value", "Innodb_buffer_pool_pages_free", "Free frames"},
	{"buffer_pages_written", "buffer", "status_counter", "Innodb_pages_written", "Pages written"},
	{"buffer_pages_read", "buffer", "status_counter", "Innodb_pages_read", "Pages read"},
	{"lock_deadlocks", "lock", "counter", "Innodb_deadlocks", "Deadlocks"},
	{"lock_timeouts", "lock", "counter", "Hearth_lock_timeouts", "Lock waits that timed out"},
	{"lock_row_lock_current_waits", "lock", "status_counter", "Innodb_row_lock_current_waits", "Row locks waited for now"},
	{"lock_row_lock_waits", "lock", "status_counter", "Innodb_row_lock_waits", "Row locks waited for"},
	{"lock_row_lock_time", "lock", "status_counter", "Innodb_row_lock_time", "Milliseconds waited for row locks"},
	{"trx_rseg_history_len", "transaction", "value", "Innodb_history_list_length", "Undo records waiting for purge"},
	{"log_waits", "log", "status_counter", "Innodb_log_waits", "Waits for room in the ring"},
	{"log_write_requests", "log", "status_counter", "Innodb_log_write_requests", "Groups appended"},
	{"log_writes", "log", "status_counter", "Innodb_log_writes", "Writes to log files"},
	{"log_lsn_current", "log", "value", "Innodb_lsn_current", "End of the log"},
	{"log_lsn_last_checkpoint", "log", "value", "Innodb_lsn_last_checkpoint", "Checkpoint"},
	{"log_lsn_checkpoint_age", "log", "value", "Innodb_checkpoint_age", "Bytes behind the checkpoint"},
	{"os_data_reads", "os", "status_counter", "Innodb_data_reads", "Reads of data files"},
	{"os_data_writes", "os", "status_counter", "Innodb_data_writes", "Writes of data files and the log"},
	{"os_data_fsyncs", "os", "status_counter", "Innodb_data_fsyncs", "Syncs of data files and the log"},
}

func (s *Server) innodbMetrics() (rows []map[string]any) {
	values := map[string]any{"": int64(s.db.Stats().Pool.Frames) * hearth.PageSize}
	for _, row := range s.statusRows(nil) {
		values[row[0].(string)] = row[1]
	}
	for _, m := range innodbMetrics {
		rows = append(rows, map[string]any{"name": m.name, "subsystem": m.subsystem, "count": values[m.status], "count_reset": values[m.status],
			"time_enabled": moment(s.began), "time_elapsed": int64(time.Since(s.began).Seconds()), "status": "enabled", "type": m.kind,
			"comment": m.comment})
	}
	return rows
}

func (s *Server) innodbPoolStats() []map[string]any {
	p := s.db.Stats().Pool
	requests := p.Hits + p.Misses
	row := map[string]any{"pool_id": 0, "pool_size": p.Frames, "free_buffers": p.Free, "database_pages": p.Frames - p.Free,
		"modified_database_pages": p.Dirty, "number_pages_read": p.Misses, "number_pages_written": p.Writes, "number_pages_get": requests}
	if requests > 0 {
		row["hit_rate"] = 1000 * p.Hits / requests
	}
	return []map[string]any{row}
}
