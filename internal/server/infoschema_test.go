package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth"
)

// TestInfoSchema: every table of ours is listed, describes itself and can be read.
func TestInfoSchema(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY kb (b))")
	exec(t, c, "INSERT INTO t VALUES (1, 1)")
	d := s.engine.Analyzer.Catalog.InfoSchema.(*infoSchema)
	for name, table := range d.tables {
		listed := rows(t, c, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'information_schema' AND table_name = '"+name+"'")
		if listed[0] != "1" {
			t.Errorf("%s is listed %s times", name, listed[0])
		}
		for _, column := range table.columns {
			rows(t, c, "SELECT `"+column.Name+"` FROM information_schema."+name)
		}
	}
	expect(t, rows(t, c, "SELECT INDEX_NAME FROM information_schema.HEARTH_POOL_BY_TREE WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = 't' "+
		"AND PAGES > 0 ORDER BY 1"), "PRIMARY", "kb")
	expect(t, rows(t, c, "SELECT SPACE > 2, TREE LIKE 't/%' FROM information_schema.HEARTH_POOL_BY_TREE WHERE TABLE_NAME = 't' AND INDEX_NAME = 'PRIMARY'"), "1 1")
	expect(t, rows(t, c, "SELECT SPACE FROM information_schema.HEARTH_POOL_BY_TREE WHERE TREE IN ('(undo)', '(catalog)') ORDER BY 1"), "1", "2")
	expect(t, rows(t, c, "SELECT KIND, POOL_SHORT IS NULL FROM information_schema.HEARTH_START_REPORT"), "new 1")
	expect(t, rows(t, c, "SELECT COUNT(*) FROM information_schema.HEARTH_LOG WHERE CURRENT_LSN >= DURABLE_LSN AND SYNCS > 0"), "1")
	expect(t, rows(t, c, "SELECT count > 0 FROM information_schema.innodb_metrics WHERE name = 'buffer_pool_pages_total' AND status = 'enabled'"), "1")
	expect(t, rows(t, c, "SELECT pool_size FROM information_schema.innodb_buffer_pool_stats"), "2048")
	if got := rows(t, c, "SHOW ENGINES"); len(got) != 1 || !strings.HasPrefix(got[0], "InnoDB DEFAULT") {
		t.Errorf("engines: %q", got)
	}
}

// TestStartReportSaysWhatThePoolLacks: a pool that survived is to be larger than its memory-dir. Needs the right to mount.
func TestStartReportSaysWhatThePoolLacks(t *testing.T) {
	memory := t.TempDir()
	if err := unix.Mount("tmpfs", memory, "tmpfs", 0, "size=128m"); err != nil {
		t.Skip("mount:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(memory, 0); err != nil {
			t.Error(err)
		}
	})
	cfg := testConfig(t)
	cfg.Engine.Memory, cfg.Engine.MemoryDir, cfg.Engine.RingSize = hearth.MemoryRequire, memory, 1<<20
	before, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg.Engine.PoolSize = 1 << 30
	c := conn(t, open(t, startAt(t, cfg)))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the pool grows behind the first answer
		got := rows(t, c, "SELECT POOL_FRAMES, POOL_SHORT FROM information_schema.HEARTH_START_REPORT")
		frames, short, _ := strings.Cut(got[0], " ")
		if frames != "65536" && strings.Contains(short, memory) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %q, want fewer than 65536 frames, and that %s is full", got[0], memory)
		}
	}
}

// TestLockTables: who waits for whom, and for what.
func TestLockTables(t *testing.T) {
	s := start(t)
	c, a, b := conn(t, open(t, s)), conn(t, open(t, s)), conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	exec(t, c, "INSERT INTO t VALUES (1, 1)")
	exec(t, a, "BEGIN")
	exec(t, a, "UPDATE t SET b = 2 WHERE a = 1")
	ids := rows(t, a, "SELECT CONNECTION_ID()")[0] + " " + rows(t, b, "SELECT CONNECTION_ID()")[0]
	done := make(chan error, 1)
	go func() {
		_, err := b.ExecContext(context.Background(), "UPDATE t SET b = 3 WHERE a = 1")
		done <- err
	}()
	eventually(t, "one waits", func() bool { return len(s.db.LockWaits()) == 1 })
	expect(t, rows(t, c, "SELECT BLOCKING_CONNECTION_ID, WAITING_CONNECTION_ID, TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, WAITING_QUERY FROM "+
		"information_schema.HEARTH_LOCK_WAITS"), ids+" test t PRIMARY UPDATE t SET b = 3 WHERE a = 1")
	expect(t, rows(t, c, "SELECT COUNT(*) FROM information_schema.HEARTH_TRANSACTIONS WHERE WAITS_FOR_TABLE = 't' AND USER = 'root'"), "1")
	expect(t, rows(t, c, "SELECT trx_state, trx_query FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"),
		"LOCK WAIT UPDATE t SET b = 3 WHERE a = 1")
	expect(t, rows(t, c, "SELECT trx_rows_modified FROM information_schema.innodb_trx WHERE trx_state = 'RUNNING' AND trx_rows_modified > 0"), "1")
	if got := rows(t, c, "SELECT GRANTED FROM information_schema.HEARTH_LOCKS WHERE TABLE_NAME = 't' ORDER BY GRANTED"); len(got) != 2 {
		t.Errorf("locks: %q", got)
	}
	if n := statusNumber(t, c, "Innodb_row_lock_current_waits"); n != 1 {
		t.Errorf("%d wait", n)
	}
	if text := rows(t, c, "SHOW ENGINE INNODB STATUS")[0]; !strings.Contains(text, "TRX HAS BEEN WAITING") {
		t.Errorf("nobody waits in\n%s", text)
	}
	exec(t, a, "COMMIT")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestPrivateTables: what others do is for those with PROCESS.
func TestPrivateTables(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT)")
	exec(t, c, "CREATE USER nosy@'%' IDENTIFIED BY 'x'")
	nosy := openAs(t, s, "nosy", "x")
	for _, text := range []string{"SELECT * FROM information_schema.HEARTH_TRANSACTIONS", "SELECT * FROM information_schema.HEARTH_LOCKS",
		"SELECT * FROM information_schema.HEARTH_LOCK_WAITS", "SELECT * FROM information_schema.innodb_trx", "SHOW ENGINE INNODB STATUS"} {
		_, err := tryRows(t.Context(), nosy, text)
		t.Log(text, err)
		failsWith(t, err, 1227)
	}
	if _, err := nosy.ExecContext(t.Context(), "SHUTDOWN"); err == nil {
		t.Error("anybody may shut the server down")
	}
	_, err := tryRows(t.Context(), nosy, "CHECKSUM TABLE test.t")
	failsWith(t, err, 1142)
	if _, err := tryRows(t.Context(), nosy, "SHOW GLOBAL STATUS"); err != nil {
		t.Error(err)
	}
}

// TestColumns: what drivers and dumps read of columns, as MySQL 8.0 says it.
func TestColumns(t *testing.T) {
	c := conn(t, open(t, start(t)))
	exec(t, c, `CREATE TABLE t (id INT UNSIGNED NOT NULL AUTO_INCREMENT, v VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT 'x''y',
		d DATE DEFAULT '2020-01-01', n DECIMAL(6,3) DEFAULT 1.5, ts DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
		e ENUM('a','b''c') NOT NULL DEFAULT 'a', u CHAR(36) DEFAULT (uuid()), g INT AS (id + 1) VIRTUAL, s INT AS (id * 2) STORED, b BLOB,
		PRIMARY KEY (id), UNIQUE KEY uk (v), KEY k (d, n)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci`)
	want := []string{
		"id int unsigned NULL NO PRI NULL auto_increment",
		"v varchar(10) latin1_swedish_ci YES UNI x'y ",
		"d date NULL YES MUL 2020-01-01 ",
		"n decimal(6,3) NULL YES  1.500 ",
		"ts datetime(6) NULL YES  CURRENT_TIMESTAMP(6) DEFAULT_GENERATED on update CURRENT_TIMESTAMP(6)",
		"e enum('a','b''c') utf8mb4_unicode_ci NO  a ",
		"u char(36) utf8mb4_unicode_ci YES  uuid() DEFAULT_GENERATED",
		"g int NULL YES  NULL VIRTUAL GENERATED",
		"s int NULL YES  NULL STORED GENERATED",
		"b blob NULL YES  NULL ",
	}
	expect(t, rows(t, c, "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, IS_NULLABLE, COLUMN_KEY, COLUMN_DEFAULT, EXTRA "+
		"FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = 't' ORDER BY ORDINAL_POSITION"), want...)
	expect(t, rows(t, c, "SELECT GENERATION_EXPRESSION FROM information_schema.COLUMNS WHERE TABLE_NAME = 't' AND COLUMN_NAME = 'g'"), "(`id` + 1)")
}
