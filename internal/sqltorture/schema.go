package sqltorture

import (
	"context"
	"fmt"
	"strings"
)

// database is where everything is.
const database = "torture"

// tableNo is one of the tables whose rows belong to clients.
type tableNo uint8

const (
	slots tableNo = iota
	mirrors
	claims
	tickets
	parents
	kidsCascade
	kidsNull
	kidsRestrict
	tables // how many there are
)

var tableNames = [tables]string{"slot", "mirror", "claim", "ticket", "parent", "kid_cascade", "kid_null", "kid_restrict"}

func (t tableNo) String() string { return tableNames[t] }

// Banks and accounts in each.
const (
	banks           = 3
	accountsPerBank = 30
	accounts        = banks * accountsPerBank
	firstBalance    = 1000
)

// account is the place of one.
type account int

func (a account) bank() string { return fmt.Sprintf("bank_%c", 'a'+int(a)/accountsPerBank) }
func (a account) id() int      { return int(a) % accountsPerBank }

// rowKey makes keys of rows of one client that no other has.
func rowKey(client int, n uint64) uint64 { return uint64(client+1)<<32 | n }

func ownerOf(key uint64) int { return int(key>>32) - 1 }

// definitions of all tables but the sites.
func definitions() []string {
	all := []string{
		"CREATE TABLE stamp (client INT PRIMARY KEY, seq BIGINT NOT NULL)",
		// A primary key of two columns, an index over a column that changes with each update, one with a prefix; values of any length.
		"CREATE TABLE slot (client INT NOT NULL, no INT NOT NULL, seq BIGINT NOT NULL, tag BIGINT NOT NULL, size INT NOT NULL, " +
			"word VARCHAR(60) NOT NULL, body MEDIUMBLOB, PRIMARY KEY (client, no), KEY (seq), KEY (size, client), KEY (word(8)))",
		// Without a primary key.
		"CREATE TABLE mirror (client INT NOT NULL, no INT NOT NULL, seq BIGINT NOT NULL, KEY (client, no), KEY (seq))",
		"CREATE TABLE claim (id BIGINT PRIMARY KEY, name VARCHAR(40) COLLATE utf8mb4_0900_ai_ci NOT NULL, code INT NULL, " +
			"UNIQUE KEY (name), UNIQUE KEY (code))",
		"CREATE TABLE ticket (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL, seq BIGINT NOT NULL, n INT NOT NULL, " +
			"UNIQUE KEY (client, seq, n))",
		"CREATE TABLE parent (id BIGINT PRIMARY KEY, code BIGINT NOT NULL, UNIQUE KEY (code))",
		"CREATE TABLE kid_cascade (id BIGINT PRIMARY KEY, parent BIGINT NOT NULL, code BIGINT NOT NULL, " +
			"CONSTRAINT kid_cascade_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE, " +
			"CONSTRAINT kid_cascade_code FOREIGN KEY (code) REFERENCES parent (code) ON DELETE CASCADE ON UPDATE CASCADE)",
		"CREATE TABLE kid_null (id BIGINT PRIMARY KEY, parent BIGINT NULL, " +
			"CONSTRAINT kid_null_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE SET NULL)",
		"CREATE TABLE kid_restrict (id BIGINT PRIMARY KEY, parent BIGINT NOT NULL, " +
			"CONSTRAINT kid_restrict_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE RESTRICT)",
	}
	for b := range banks {
		all = append(all, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, owner VARCHAR(24) NOT NULL, balance BIGINT NOT NULL, "+
			"touched BIGINT NOT NULL DEFAULT 0, UNIQUE KEY (owner), KEY (balance), KEY (touched, balance))", account(b*accountsPerBank).bank()))
	}
	return all
}

// setUp makes the tables, the accounts, the stamps and the first sites.
func setUp(ctx context.Context, l *link, clients int, layouts []layout) error {
	script := append([]string{"CREATE DATABASE " + database, "USE " + database}, definitions()...)
	for b := range banks {
		var rows []string
		for i := range accountsPerBank {
			rows = append(rows, fmt.Sprintf("(%d, 'owner %d', %d)", i, i, firstBalance))
		}
		script = append(script, fmt.Sprintf("INSERT INTO %s (id, owner, balance) VALUES %s", account(b*accountsPerBank).bank(), strings.Join(rows, ", ")))
	}
	var rows []string
	for c := range clients {
		rows = append(rows, fmt.Sprintf("(%d, 0)", c))
	}
	script = append(script, "INSERT INTO stamp VALUES "+strings.Join(rows, ", "))
	for _, l := range layouts {
		for name, s := range l {
			script = append(script, s.create(name))
		}
	}
	for _, text := range script {
		if _, err := l.conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("set up: %s: %w", text, err)
		}
	}
	return nil
}
