package replay

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// TableSource asks a server for the statements it keeps in tables, where its files cannot be read: mysql.slow_log, or the
// history of performance_schema. What the server forgot between two questions is lost, and not counted: nobody knows it.
type TableSource struct {
	ctx    context.Context
	cancel context.CancelFunc
	db     *sql.DB
	perf   bool
	since  string // of slow_log: the newest time seen
	seen   uint64 // of the history: the newest timer
	last   int    // rows of slow_log at exactly since that were given
	rows   []tableRow
	now    tableRow
}

type tableRow struct {
	text, schema, at string
	known            bool
	thread           uint64
	timer            uint64
}

const (
	pollTables = 500 * time.Millisecond
	pollRows   = 10_000 // of one question
)

// NewTableSource asks the server of a DSN. perf: the history of performance_schema, else mysql.slow_log.
func NewTableSource(ctx context.Context, dsn string, perf bool) (*TableSource, error) {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.InterpolateParams = true
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	s := &TableSource{db: sql.OpenDB(c), perf: perf, since: "1970-01-01"}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := s.look(); err != nil { // a server without the tables is an error now, not silence for ever
		s.Close()
		return nil, fmt.Errorf("read the statements of the source: %w", err)
	}
	return s, nil
}

// look asks for what is new.
func (s *TableSource) look() error {
	query, args := `SELECT start_time, COALESCE(db, ''), sql_text, thread_id FROM mysql.slow_log WHERE start_time >= ? ORDER BY start_time LIMIT `+
		strconv.Itoa(pollRows), []any{s.since}
	if s.perf {
		query, args = `SELECT '', COALESCE(CURRENT_SCHEMA, ''), SQL_TEXT, THREAD_ID, TIMER_START FROM performance_schema.events_statements_history_long
			WHERE SQL_TEXT IS NOT NULL AND TIMER_START > ? AND TIMER_END IS NOT NULL ORDER BY TIMER_START LIMIT `+strconv.Itoa(pollRows), []any{s.seen}
	}
	rows, err := s.db.QueryContext(s.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	atSince := 0
	for rows.Next() {
		r := tableRow{known: true}
		into := []any{&r.at, &r.schema, &r.text, &r.thread}
		if s.perf {
			into = append(into, &r.timer)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if s.perf {
			s.seen = r.timer
		} else if r.at == s.since {
			if atSince++; atSince <= s.last {
				continue
			}
			s.last = atSince
		} else {
			s.since, s.last, atSince = r.at, 1, 1
		}
		s.rows = append(s.rows, r)
	}
	return rows.Err()
}

// Next fills e; it waits for new statements.
func (s *TableSource) Next(e *slowlog.Entry) error {
	for len(s.rows) == 0 {
		if !sleep(s.ctx, pollTables) {
			return io.EOF
		}
		if err := s.look(); err != nil {
			if s.ctx.Err() != nil {
				return io.EOF
			}
			return err
		}
	}
	s.now, s.rows = s.rows[0], s.rows[1:]
	*e = slowlog.Entry{Kind: slowlog.Query, Text: []byte(s.now.text), Schema: []byte(s.now.schema), SchemaKnown: true, ThreadID: s.now.thread, HasThreadID: true}
	return nil
}

// Place is unknown to tables: another run begins with what they hold then.
func (s *TableSource) Place() Place { return Place{} }

// Close ends the questions.
func (s *TableSource) Close() error {
	s.cancel()
	return s.db.Close()
}
