package server

import (
	"strconv"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// look is what the status values of one answer are taken from, all of them at once.
type look struct {
	server   *Server
	counters Counters
	engine   hearth.Stats
	warmth   hearth.WarmthStatus
	report   hearth.StartReport
	redo     hearth.RedoProgress
	uptime   time.Duration
	files    fileTotals
}

// fileTotals are the operations on data files of all classes.
type fileTotals struct {
	reads, writes, bytesRead, bytesWritten uint64
}

// look around. It walks over the descriptors of all pages, as hearth.DB.Stats does.
func (s *Server) look() *look {
	l := &look{server: s, counters: s.Counters(), engine: s.db.Stats(), warmth: s.db.Warmth().Status(), report: s.db.StartReport(), redo: s.db.Redo(), uptime: s.Uptime()}
	for _, c := range l.engine.Files {
		l.files.reads += c.Reads
		l.files.writes += c.Writes
		l.files.bytesRead += c.BytesRead
		l.files.bytesWritten += c.BytesWritten
	}
	return l
}

// statusValue is one value of SHOW STATUS.
type statusValue struct {
	name string
	of   func(*look) any // an integer, float64, bool or string
}

// statusValues of the server, but for Com_*, which follow the names of the counters. Each is true by the definition of the name in
// MySQL's or MariaDB's manual, or begins with Hearth_. Names whose value is not known are not here: a tool that finds nothing does
// not draw a line, and a line at zero would be a lie.
var statusValues = concat(serverStatus, poolStatus, fileStatus, logStatus, transactionStatus, warmthStatus, hearthStatus)

func concat[T any](lists ...[]T) (all []T) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// serverStatus is about clients and statements.
var serverStatus = []statusValue{
	{"Uptime", func(l *look) any { return int64(l.uptime / time.Second) }},
	{"Uptime_since_flush_status", func(l *look) any { return int64(l.uptime / time.Second) }},
	{"Questions", func(l *look) any { return l.counters.Questions }},
	{"Queries", func(l *look) any { return l.counters.Queries }},
	{"Slow_queries", func(l *look) any { return l.counters.SlowQueries }},
	{"Bytes_received", func(l *look) any { return l.counters.BytesReceived }},
	{"Bytes_sent", func(l *look) any { return l.counters.BytesSent }},
	{"Rows_sent", func(l *look) any { return l.counters.RowsSent }},
	{"Connections", func(l *look) any { return l.counters.Connections }},
	{"Max_used_connections", func(l *look) any { return l.counters.MaxUsed }},
	{"Aborted_clients", func(l *look) any { return l.counters.AbortedClients }},
	{"Aborted_connects", func(l *look) any { return l.counters.AbortedConnects }},
	{"Connection_errors_max_connections", func(l *look) any { return l.counters.RefusedFull }},
	{"Threads_connected", func(l *look) any { return l.counters.ThreadsConnected }},
	{"Threads_running", func(l *look) any { return l.counters.ThreadsRunning }},
	{"Prepared_stmt_count", func(l *look) any { return l.counters.PreparedCount }},
	{"Hearth_statement_errors", func(l *look) any { return l.counters.Errors }},
	{"Hearth_rows_examined", func(l *look) any { return l.counters.RowsExamined }},
	{"Hearth_bulk_inserts", func(l *look) any { return l.server.bulkInserts.Load() }},
	{"Hearth_plain_statements", func(l *look) any { return l.server.plainStatements.Load() }},
	{"Hearth_slow_log_entries", func(l *look) any { return l.server.slow.file.written.Load() }},
	{"Hearth_slow_log_bytes", func(l *look) any { return l.server.slow.file.writtenBytes.Load() }},
	{"Hearth_slow_log_lost", func(l *look) any { return l.server.slow.file.lost.Load() }},
	{"Hearth_panics", func(l *look) any { return l.server.panics.Load() }},
	{"Hearth_heap_bytes", func(l *look) any { return l.server.memory.live.Load() }},
}

// poolStatus is about pages in memory. Units as InnoDB's: pages, bytes where the name says so.
var poolStatus = []statusValue{
	{"Innodb_page_size", func(*look) any { return hearth.PageSize }},
	{"Innodb_buffer_pool_pages_total", func(l *look) any { return l.engine.Pool.Frames }},
	{"Innodb_buffer_pool_pages_free", func(l *look) any { return l.engine.Pool.Free }},
	{"Innodb_buffer_pool_pages_data", func(l *look) any { return l.engine.Pool.Frames - l.engine.Pool.Free }},
	{"Innodb_buffer_pool_pages_dirty", func(l *look) any { return l.engine.Pool.Dirty }},
	{"Innodb_buffer_pool_pages_misc", func(*look) any { return 0 }}, // frames hold pages or nothing
	{"Innodb_buffer_pool_pages_flushed", func(l *look) any { return l.engine.Pool.Writes }},
	{"Innodb_buffer_pool_bytes_data", func(l *look) any { return (l.engine.Pool.Frames - l.engine.Pool.Free) * hearth.PageSize }},
	{"Innodb_buffer_pool_bytes_dirty", func(l *look) any { return l.engine.Pool.Dirty * hearth.PageSize }},
	{"Innodb_buffer_pool_read_requests", func(l *look) any { return l.engine.Pool.Hits + l.engine.Pool.Misses }},
	{"Innodb_buffer_pool_reads", func(l *look) any { return l.engine.Pool.Misses }},
	{"Innodb_pages_written", func(l *look) any { return l.engine.Pool.Writes }},
	{"Innodb_pages_read", func(l *look) any { return l.files.bytesRead / hearth.PageSize }},
	{"Innodb_buffer_pool_resize_status", func(*look) any { return "" }},
	{"Hearth_pool_evictions", func(l *look) any { return l.engine.Pool.Evictions }},
	{"Hearth_pool_miss_seconds", func(l *look) any { return float64(l.engine.Pool.MissNanos) / 1e9 }},
	{"Hearth_pool_write_seconds", func(l *look) any { return float64(l.engine.Pool.WriteNanos) / 1e9 }},
	{"Hearth_pool_survivors_reread", func(l *look) any { return l.engine.Pool.SurvivorsReread }},
	{"Hearth_pool_survivors_rebuilt", func(l *look) any { return l.engine.Pool.SurvivorsRebuilt }},
	{"Hearth_pool_last_write_error", func(l *look) any { return errText(l.engine.Pool.LastWriteError) }},
}

// fileStatus is about data files. InnoDB counts its log with them, and so do we.
var fileStatus = []statusValue{
	{"Innodb_data_reads", func(l *look) any { return l.files.reads }},
	{"Innodb_data_read", func(l *look) any { return l.files.bytesRead }},
	{"Innodb_data_writes", func(l *look) any { return l.files.writes + l.engine.Log.Writes }},
	{"Innodb_data_written", func(l *look) any { return l.files.bytesWritten + l.engine.Log.WrittenBytes }},
	{"Innodb_data_fsyncs", func(l *look) any {
		return l.engine.Syncs.Files + l.engine.Syncs.Doublewrite + l.engine.Log.Syncs
	}},
	{"Innodb_dblwr_writes", func(l *look) any { return l.engine.Syncs.Doublewrite }}, // each batch is synced once
}

// logStatus is about the log.
var logStatus = []statusValue{
	{"Innodb_os_log_written", func(l *look) any { return l.engine.Log.WrittenBytes }},
	{"Innodb_os_log_fsyncs", func(l *look) any { return l.engine.Log.Syncs }},
	{"Innodb_log_write_requests", func(l *look) any { return l.engine.Log.Groups }},
	{"Innodb_log_writes", func(l *look) any { return l.engine.Log.Writes }},
	{"Innodb_log_waits", func(l *look) any { return l.engine.Log.RingFull }},
	{"Innodb_lsn_current", func(l *look) any { return uint64(l.engine.Log.Tail) }},
	{"Innodb_lsn_flushed", func(l *look) any { return uint64(l.engine.Log.Durable) }},
	{"Innodb_lsn_last_checkpoint", func(l *look) any { return l.engine.CheckpointLSN }},
	{"Innodb_checkpoint_age", func(l *look) any { return l.engine.CheckpointAge }},
	{"Innodb_checkpoint_max_age", func(l *look) any { return l.engine.LogCapacity }},
	{"Innodb_redo_log_enabled", func(*look) any { return true }},
	{"Innodb_redo_log_current_lsn", func(l *look) any { return uint64(l.engine.Log.Tail) }},
	{"Innodb_redo_log_flushed_to_disk_lsn", func(l *look) any { return uint64(l.engine.Log.Durable) }},
	{"Innodb_redo_log_checkpoint_lsn", func(l *look) any { return l.engine.CheckpointLSN }},
	{"Innodb_redo_log_logical_size", func(l *look) any { return l.engine.CheckpointAge }},
	{"Hearth_log_appended_bytes", func(l *look) any { return l.engine.Log.Appended }},
	{"Hearth_log_segments", func(l *look) any { return l.engine.Log.SegmentsLive }},
	{"Hearth_log_segments_recycled", func(l *look) any { return l.engine.Log.SegmentsRecycled }},
	{"Hearth_log_segment_waits", func(l *look) any { return l.engine.Log.SegmentWaits }},
	{"Hearth_log_commit_waits", func(l *look) any { return l.engine.Log.Waits }},
	{"Hearth_log_sync_seconds", func(l *look) any { return l.engine.Log.SyncTime.Seconds() }},
}

// transactionStatus is about transactions and row locks. Times of locks are in milliseconds, as InnoDB's.
var transactionStatus = []statusValue{
	{"Innodb_row_lock_current_waits", func(l *look) any { return l.engine.Txn.Locks.Waiting }},
	{"Innodb_row_lock_waits", func(l *look) any { return l.engine.Txn.Locks.Waits }},
	{"Innodb_row_lock_time", func(l *look) any { return l.engine.Txn.Locks.WaitTime.Milliseconds() }},
	{"Innodb_row_lock_time_avg", func(l *look) any {
		ended := int64(l.engine.Txn.Locks.Waits) - int64(l.engine.Txn.Locks.Waiting)
		return l.engine.Txn.Locks.WaitTime.Milliseconds() / max(1, ended)
	}},
	{"Innodb_row_lock_time_max", func(l *look) any { return l.engine.Txn.Locks.LongestWait.Milliseconds() }},
	{"Innodb_deadlocks", func(l *look) any { return l.engine.Txn.Locks.Deadlocks }},
	{"Innodb_history_list_length", func(l *look) any { return l.engine.Txn.History }},
	{"Hearth_lock_timeouts", func(l *look) any { return l.engine.Txn.Locks.Timeouts }},
	{"Hearth_locked_keys", func(l *look) any { return l.engine.Txn.Locks.Keys }},
	{"Hearth_transactions_open", func(l *look) any { return l.engine.OpenTransactions }},
	{"Hearth_transactions_writing", func(l *look) any { return l.engine.Txn.Writers }},
	{"Hearth_transactions_left_over", func(l *look) any { return l.engine.Txn.Losers }},
	{"Hearth_purged", func(l *look) any { return l.engine.Txn.Purged }},
	{"Hearth_purge_lag", func(l *look) any { return l.engine.Txn.PurgeLag }},
	{"Hearth_purge_blocked", func(l *look) any { return l.engine.Txn.PurgeBlocked }},
}

// hearthStatus is about the last start.
var hearthStatus = []statusValue{
	{"Hearth_start_kind", func(l *look) any { return string(l.report.Kind) }},
	{"Hearth_start_seconds", func(l *look) any { return l.report.Took.Seconds() }},
	{"Hearth_start_redo_pages", func(l *look) any { return l.report.RedoPages }},
	{"Hearth_redo_pages", func(l *look) any { return l.redo.Total }},
	{"Hearth_redo_pages_left", func(l *look) any { return l.redo.Total - l.redo.Done }},
	{"Hearth_start_losers", func(l *look) any { return l.report.Losers }},
	{"Hearth_start_torn_pages", func(l *look) any { return l.report.TornPages }},
	{"Hearth_incarnation", func(l *look) any { return l.report.Incarnation }},
	{"Hearth_memory_survives", func(l *look) any { return l.report.Survives }},
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// statusText is a value as SHOW STATUS prints it.
func statusText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "ON"
		}
		return "OFF"
	case float64:
		return strconv.FormatFloat(v, 'f', 6, 64)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	panic("BUG: a status value of an unknown type")
}

// statusRows are the rows of SHOW STATUS: with a session, what is known of that alone takes the place of what is known of all.
func (s *Server) statusRows(session gms.Session) []gms.Row {
	l := s.look()
	values := map[string]string{}
	for _, v := range statusValues {
		values[v.name] = statusText(v.of(l))
	}
	com := l.counters.Com
	if session != nil {
		if own, ok := s.SessionCounters(session.ID()); ok {
			com = own.Com
			for name, n := range map[string]uint64{"Questions": own.Questions, "Slow_queries": own.SlowQueries,
				"Bytes_received": own.BytesReceived, "Bytes_sent": own.BytesSent, "Rows_sent": own.RowsSent,
				"Hearth_rows_examined": own.RowsExamined, "Hearth_statement_errors": own.Errors} {
				values[name] = statusText(n)
			}
		}
		values["Ssl_version"], values["Ssl_cipher"] = s.tlsOf(session.ID())
	}
	for name, n := range com {
		if name != comNames[comOther] {
			values["Com_"+name] = statusText(n)
		}
	}
	rows := make([]gms.Row, 0, len(values))
	for name, text := range values {
		rows = append(rows, gms.Row{name, text})
	}
	return rows
}
