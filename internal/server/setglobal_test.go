package server

import (
	"database/sql"
	"testing"
)

// TestSetGlobal: what others see is set by accounts that administer, however it is said; what is one's own by anybody.
func TestSetGlobal(t *testing.T) {
	s := start(t)
	db := open(t, s)
	c := conn(t, db)
	exec(t, c, "CREATE USER plain@localhost IDENTIFIED BY 'p', admin@localhost IDENTIFIED BY 'a'")
	exec(t, c, "GRANT ALL ON d.* TO plain@localhost")
	exec(t, c, "GRANT SUPER ON *.* TO admin@localhost")
	before := variableOf(t, c, "long_query_time")
	as := func(user, password string) *sql.Conn {
		t.Helper()
		c, err := openAs(t, s, user, password).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	plain := as("plain", "p")
	for _, text := range []string{
		"SET GLOBAL long_query_time = 3", "SET @@GLOBAL.long_query_time = 3", "SET PERSIST long_query_time = 3", "SET @@PERSIST.long_query_time = 3",
		"SET PERSIST_ONLY long_query_time = 3", "SET autocommit = 1, GLOBAL long_query_time = 3", "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET GLOBAL slow_query_log = ON", "SET GLOBAL innodb_buffer_pool_dump_now = 1",
	} {
		_, err := plain.ExecContext(t.Context(), text)
		failsWith(t, err, 1227)
	}
	_, err := plain.ExecContext(t.Context(), "SET GLOBAL long_query_time = ?", 3) // prepared
	failsWith(t, err, 1227)
	for _, text := range []string{
		"SET long_query_time = 3", "SET SESSION long_query_time = 3", "SET @@long_query_time = 3", "SET autocommit = 1", "SET NAMES utf8mb4", "SET @v = 1",
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	} {
		exec(t, plain, text)
	}
	if got := variableOf(t, conn(t, open(t, s)), "long_query_time"); got != before {
		t.Errorf("long_query_time is %s now, was %s", got, before)
	}
	exec(t, as("admin", "a"), "SET GLOBAL long_query_time = 3")
	exec(t, c, "SET GLOBAL long_query_time = 4")
}
