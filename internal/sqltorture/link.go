package sqltorture

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth/internal/peer"
)

// manner is how a client speaks to the server.
type manner struct {
	tcp      bool // else over the unix socket
	prepared bool // statements with arguments are prepared; else they are text
}

// link is one connection.
type link struct {
	pool *sql.DB // of this one connection
	conn *sql.Conn
	id   uint32 // what the server calls it

	mu  sync.Mutex
	raw net.Conn
}

// silent drops what the driver logs: connections are lost here on purpose.
type silent struct{}

func (silent) Print(...any) {}

// statementLimit is how long a statement may take; all wait for locks for a second at most.
const statementLimit = 90 * time.Second

// dial connects, and sets the session up.
func dial(ctx context.Context, s *peer.Server, m manner, db string) (*link, error) {
	l := &link{}
	cfg := mysql.NewConfig()
	cfg.User, cfg.DBName, cfg.Logger, cfg.ClientFoundRows, cfg.InterpolateParams = "root", db, silent{}, true, !m.prepared
	cfg.Net, cfg.Addr = "unix", s.Socket
	if m.tcp {
		cfg.Net, cfg.Addr = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			l.mu.Lock()
			l.raw = c
			l.mu.Unlock()
		}
		return c, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	l.pool = sql.OpenDB(connector)
	if l.conn, err = l.pool.Conn(ctx); err != nil {
		l.pool.Close()
		return nil, err
	}
	for _, text := range []string{
		fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", lockWait), fmt.Sprintf("SET SESSION lock_wait_timeout = %d", lockWait),
	} {
		if _, err := l.conn.ExecContext(ctx, text); err != nil {
			l.close()
			return nil, err
		}
	}
	if err := l.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&l.id); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *link) close() {
	l.conn.Close()
	l.pool.Close()
}

// cut ends the connection as a cable that is pulled out does, while it is used or not.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raw.Close()
}

// null is what query makes of NULL.
const null = "NULL"

// query reads all rows of a statement as text.
func (l *link) query(ctx context.Context, text string, args ...any) ([][]string, error) {
	rows, err := l.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var all [][]string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		r := make([]string, len(columns))
		for i, v := range values {
			if r[i] = null; v.Valid {
				r[i] = v.String
			}
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// Numbers of errors that clients must be ready for.
const (
	erTooMany       = 1040
	erShutdown      = 1053
	erDuplicate     = 1062
	erNoThread      = 1094
	erNoTable       = 1146
	erLockWait      = 1205
	erDeadlock      = 1213
	erInterrupted   = 1317
	erDefinition    = 1412 // it has changed since the transaction began
	erParentIsUsed  = 1451
	erParentMissing = 1452
)

// number of MySQL's error in err, 0 if there is none.
func number(err error) uint16 {
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// isLost tells whether the connection is gone, or about to be.
func isLost(err error) bool {
	if e := net.Error(nil); errors.As(err, &e) {
		return true
	}
	for _, gone := range []error{driver.ErrBadConn, mysql.ErrInvalidConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		context.Canceled} {
		if errors.Is(err, gone) {
			return true
		}
	}
	n := number(err)
	return n == erShutdown || n == erTooMany
}
