package clients_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// goDatabase is a new database, seen through the driver with its defaults and more options.
func goDatabase(t *testing.T, name, options string) *sql.DB {
	t.Helper()
	root, err := sql.Open("mysql", "root@unix("+served.Socket+")/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", "root@unix("+served.Socket+")/"+name+options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, on interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any) sql.Result {
	t.Helper()
	r, err := on.Exec(query, args...)
	if err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
	return r
}

// wantNumber: the error is one of the server with that number.
func wantNumber(t *testing.T, err error, number uint16) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != number {
		t.Fatalf("got %v, want error %d", err, number)
	}
}

// Values go in and come out alike, prepared (the driver's default) and in text.
func TestGoDriverTypes(t *testing.T) {
	for name, options := range map[string]string{"go_binary": "?parseTime=true", "go_text": "?parseTime=true&interpolateParams=true"} {
		t.Run(name, func(t *testing.T) {
			db := goDatabase(t, name, options)
			mustExec(t, db, `CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, d DOUBLE, s VARCHAR(100), b LONGBLOB,
				at DATETIME(6), day DATE, n DECIMAL(30,10), ok BOOLEAN)`)
			type row struct {
				I    sql.NullInt64
				U    uint64
				D    float64
				S, N sql.NullString
				B    []byte
				At   sql.NullTime
				Day  time.Time
				OK   sql.NullBool
			}
			day := time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC)
			for _, in := range []row{
				{
					I: sql.NullInt64{Int64: math.MinInt64, Valid: true}, U: math.MaxUint64, D: math.SmallestNonzeroFloat64,
					S: sql.NullString{String: "it's \\ \x00 €😀", Valid: true}, N: sql.NullString{String: "12345678901234567890.0123456789", Valid: true},
					B:  []byte{0, 255, '\'', '\\'},
					At: sql.NullTime{Time: time.Date(2024, 1, 2, 3, 4, 5, 678901000, time.UTC), Valid: true}, Day: day,
					OK: sql.NullBool{Bool: true, Valid: true},
				},
				{Day: day},
				{Day: day, D: -math.MaxFloat64, B: bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)},
			} {
				id, err := mustExec(t, db, "INSERT INTO t (i, u, d, s, b, at, day, n, ok) VALUES (?,?,?,?,?,?,?,?,?)",
					in.I, in.U, in.D, in.S, in.B, in.At, in.Day, in.N, in.OK).LastInsertId()
				if err != nil {
					t.Fatal(err)
				}
				var out row
				err = db.QueryRow("SELECT i, u, d, s, b, at, day, n, ok FROM t WHERE id = ?", id).
					Scan(&out.I, &out.U, &out.D, &out.S, &out.B, &out.At, &out.Day, &out.N, &out.OK)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(in.B, out.B) {
					t.Fatalf("row %d: the blob of %d bytes differs, got %d", id, len(in.B), len(out.B))
				}
				in.B, out.B = nil, nil
				if in.I != out.I || in.U != out.U || in.D != out.D || in.S != out.S || in.N != out.N || in.At.Valid != out.At.Valid ||
					!in.At.Time.Equal(out.At.Time) || !in.Day.Equal(out.Day) || in.OK != out.OK {
					t.Fatalf("got  %+v\nwant %+v", out, in)
				}
			}
		})
	}
}

// Transactions see what they should and no more; the driver's contexts end statements.
func TestGoDriverTransactions(t *testing.T) {
	db := goDatabase(t, "go_tx", "")
	ctx := t.Context()
	mustExec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, v INT)")
	mustExec(t, db, "INSERT INTO t VALUES (1, 1), (2, 2)")
	sum := func(tx *sql.Tx) (n int) {
		if err := tx.QueryRow("SELECT SUM(v) FROM t").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for level, want := range map[sql.IsolationLevel]int{sql.LevelRepeatableRead: 3, sql.LevelReadCommitted: 103} {
		reader, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		before := sum(reader)
		mustExec(t, db, "UPDATE t SET v = v + 100 WHERE id = 1")
		if got := sum(reader); got-before+3 != want {
			t.Errorf("%v: got %d after %d", level, got, before)
		}
		if err := reader.Commit(); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "UPDATE t SET v = v - 100 WHERE id = 1")
	}

	readOnly, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = readOnly.Exec("DELETE FROM t")
	wantNumber(t, err, 1792)
	readOnly.Rollback()

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := tx.Prepare("INSERT INTO t VALUES (?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	for i := 10; i < 20; i++ {
		if _, err := st.Exec(i, i); err != nil {
			t.Fatal(err)
		}
	}
	_, err = st.Exec(1, 1)
	wantNumber(t, err, 1062) // and the transaction goes on
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 12 {
		t.Fatalf("got %d rows, %v", n, err)
	}

	holder, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	mustExec(t, holder, "UPDATE t SET v = 0 WHERE id = 1")
	_, err = db.Exec("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT")
	wantNumber(t, err, 3572)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(short, "UPDATE t SET v = 7 WHERE id = 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a statement that waits for a lock: got %v", err)
	}
}

// Several statements in one text give several results, and the first error ends them.
func TestGoDriverResults(t *testing.T) {
	db := goDatabase(t, "go_multi", "?multiStatements=true&clientFoundRows=true")
	rows, err := db.Query("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); SELECT a FROM t ORDER BY a; SELECT 'x', NULL; SELECT 1 FROM t WHERE FALSE")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var sets []string
	for more := true; more; more = rows.NextResultSet() {
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		set := strings.Join(columns, ",") + ":"
		for rows.Next() {
			values := make([]sql.NullString, len(columns))
			to := make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				set += " " + v.String
			}
		}
		if len(columns) > 0 {
			sets = append(sets, set)
		}
	}
	if got, want := strings.Join(sets, ";"), "a: 1 2;x,NULL: x ;1:"; got != want || rows.Err() != nil {
		t.Fatalf("got %q, want %q, %v", got, want, rows.Err())
	}
	_, err = db.Exec("INSERT INTO t VALUES (3); INSERT INTO nope VALUES (1); INSERT INTO t VALUES (4)")
	wantNumber(t, err, 1146)
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 3 {
		t.Fatalf("got %d rows, %v", n, err)
	}
	if found, err := mustExec(t, db, "UPDATE t SET a = 1 WHERE a = 1").RowsAffected(); err != nil || found != 1 {
		t.Fatalf("rows found, not changed: got %d, %v", found, err)
	}
	for i := range 300 { // statements that are prepared and left
		var got int
		if err := db.QueryRow("SELECT ?", i).Scan(&got); err != nil || got != i {
			t.Fatalf("got %d, %v", got, err)
		}
	}
}
