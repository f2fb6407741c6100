package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hearthdb/hearth/internal/peer"
)

// coverageRows make some 25 MB with their indexes: many leaves for few statements.
const coverageRows = 100_000

var coverageSchema = []string{
	"CREATE DATABASE cov", "USE cov",
	"CREATE TABLE parent (id INT PRIMARY KEY, pad CHAR(100)) ENGINE=InnoDB",
	fmt.Sprintf("INSERT INTO parent SELECT seq, REPEAT('p', 100) FROM seq_1_to_%d", coverageRows/4),
	`CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b VARCHAR(40), c INT UNSIGNED, p INT, pad CHAR(100) NOT NULL DEFAULT 'x',
		d DATETIME DEFAULT CURRENT_TIMESTAMP, KEY a (a), UNIQUE KEY b (b), KEY cb (c, b(10)), CONSTRAINT fp FOREIGN KEY (p) REFERENCES parent (id)) ENGINE=InnoDB`,
	fmt.Sprintf("INSERT INTO t (id, a, b, c, p) SELECT seq * 2, CRC32(seq) %% 1000000, CONCAT(MD5(seq), 'z'), CRC32(seq * 7), 1 + CRC32(seq * 3) %% %d FROM seq_1_to_%d",
		coverageRows/4, coverageRows),
	"CREATE TABLE child (x INT PRIMARY KEY, tid INT, KEY (tid), CONSTRAINT ft FOREIGN KEY (tid) REFERENCES t (id) ON DELETE CASCADE) ENGINE=InnoDB",
	fmt.Sprintf("INSERT INTO child SELECT seq, 2 + 2 * (CRC32(seq) %% %d) FROM seq_1_to_%d", coverageRows, coverageRows/2),
}

// coverageChanges are statements of every form, over rows that chance chose.
func coverageChanges(r *rand.Rand) map[string][]string {
	id := func() int { return 2 + 2*r.IntN(coverageRows-1) }
	key := func() string { return fmt.Sprintf("%032x", r.Uint64()) }
	out := map[string][]string{}
	add := func(form string, statements ...string) { out[form] = append(out[form], statements...) }
	for range 60 {
		add("update by key",
			fmt.Sprintf("UPDATE t SET a = %d, c = c + 1 WHERE id = %d", r.IntN(1000000), id()),
			fmt.Sprintf("UPDATE t x SET x.b = CONCAT('%s', x.id), pad = 'y' WHERE x.id IN (%d, %d)", key()[:8], id(), id()),
			fmt.Sprintf("UPDATE t SET p = %d WHERE id = %d LIMIT 1", 1+r.IntN(coverageRows/4-1), id()),
			fmt.Sprintf("UPDATE t JOIN parent ON t.p = parent.id SET t.c = %d, parent.pad = 'q' WHERE t.id = %d", r.Uint32(), id()))
		add("delete by key", fmt.Sprintf("DELETE FROM t WHERE id = %d", id()))
		add("delete range", fmt.Sprintf("DELETE FROM t WHERE id BETWEEN %d AND %d ORDER BY id LIMIT 2", id(), id()+4))
		add("delete join", fmt.Sprintf("DELETE child FROM child JOIN t ON child.tid = t.id WHERE t.id = %d", id()))
		add("insert", fmt.Sprintf("INSERT INTO t (id, a, b, c, p) VALUES (%d, %d, '%s', %d, %d)", id()+1, r.IntN(1000000), key(), r.Uint32(), 1+r.IntN(coverageRows/4-1)))
		add("insert set", fmt.Sprintf("INSERT IGNORE INTO t SET id = %d, a = 5 + 6, b = CONCAT('%s', 'x'), c = NULL", id()+1, key()[:8]))
		add("insert select", fmt.Sprintf("INSERT INTO t (id, a, b, c, p) SELECT id + 1, a * 7 %% 1000000, REVERSE(b), c + 12345, p FROM t WHERE id IN (%d, %d)", id(), id()))
		add("replace", fmt.Sprintf("REPLACE INTO t (id, a, b, c) VALUES (%d, 1, '%s', 2), (%d, 3, '%s', 4)", id(), key(), id(), key()))
		add("upsert", fmt.Sprintf("INSERT INTO t (id, a, b, c) VALUES (%d, %d, '%s', 9) ON DUPLICATE KEY UPDATE c = c + 1, pad = 'w'", id(), r.IntN(1000000), key()))
	}
	return out
}

// What a change touches is in the pool when its rewrite has run: the change then reads at most a twentieth of the pages it
// reads from a cold start.
func TestARewriteTouchesThePagesOfItsChange(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a MariaDB again and again")
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(dir, "m"), Pool: 128 << 20, LogSize: 64 << 20, Extra: []string{
		"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--innodb-stats-auto-recalc=0", "--innodb-fast-shutdown=0"}})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	ctx := context.Background()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, coverageSchema...)
	exec(t, db, "ANALYZE TABLE t, parent, child")
	db.Close()
	changes := coverageChanges(seedOf(t))

	// measure starts the server cold, replays what is given, and returns what the changes then read. They are rolled back.
	measure := func(first, then []string) float64 {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		db := open(t, s, "cov")
		defer db.Close()
		db.SetMaxOpenConns(1)
		exec(t, db, "SELECT 1 FROM t LIMIT 1", "SELECT 1 FROM parent LIMIT 1", "SELECT 1 FROM child LIMIT 1")
		exec(t, db, "START TRANSACTION", "UPDATE t SET pad = 'warm' WHERE id = 4", "ROLLBACK") // undo logs, dictionary
		if first != nil {
			totals := play(t, config(t, s), entries("cov", first...))
			t.Log(totals)
			if totals.Sum(Rewritten) != int64(len(first)) {
				t.Errorf("%d of %d were rewritten", totals.Sum(Rewritten), len(first))
			}
		}
		before := reads(t, db)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range then {
			if _, err := tx.Exec(c); err != nil && first == nil {
				t.Logf("%s: %v", c, err) // a key that is there already, a parent that is not: work all the same
			}
		}
		var after float64
		var name string
		if err := tx.QueryRow("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'").Scan(&name, &after); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		return after - before
	}
	var all []string
	for _, form := range slices.Sorted(maps.Keys(changes)) {
		all = append(all, changes[form]...)
	}
	cold := measure(nil, all)
	warm := measure(all, all)
	t.Logf("%.0f pages cold, %.0f after the rewrites (%.1f %%)", cold, warm, 100*warm/cold)
	if cold < 1000 {
		t.Errorf("only %.0f pages read cold, so it proves nothing", cold)
	}
	// What is left: undo pages, and the row behind the last child, which a locking scan of a secondary index fetches.
	if warm > cold/20 {
		t.Errorf("%.0f of %.0f pages were not there after the rewrites, want at most 5 %%", warm, cold)
	}
}

func reads(t testing.TB, db *sql.DB) (v float64) {
	t.Helper()
	var name string
	if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'").Scan(&name, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
