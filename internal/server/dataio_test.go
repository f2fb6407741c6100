package server

import (
	"os"
	"path/filepath"
	"testing"
)

// LOAD DATA INFILE reads below secure_file_priv, and nothing else, however it is named.
func TestLoadDataInfile(t *testing.T) {
	s := start(t)
	files := filepath.Join(s.cfg.Data, filesDir)
	db := open(t, s)
	c := conn(t, db)
	exec(t, c, "CREATE DATABASE d")
	exec(t, c, "USE d")
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))")
	load := func(name string) error {
		_, err := c.ExecContext(t.Context(), "LOAD DATA INFILE '"+name+"' INTO TABLE t CHARACTER SET latin1")
		return err
	}
	failsWith(t, load("t.txt"), 1290) // the directory is not there

	outside := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{files, filepath.Join(files, "sub"), files + "-not"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(files, "t.txt"), "1\tM\xfcller\n")
	write(filepath.Join(files, "sub", "t.txt"), "2\ttwo\n")
	write(filepath.Join(files+"-not", "t.txt"), "3\tthree\n")
	write(filepath.Join(outside, "t.txt"), "4\tfour\n")
	for name, target := range map[string]string{"link": outside, "link.txt": filepath.Join(outside, "t.txt")} {
		if err := os.Symlink(target, filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"t.txt", filepath.Join(files, "sub", "t.txt")} {
		if err := load(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{
		filepath.Join(outside, "t.txt"), files + "-not/t.txt", "../files-not/t.txt", "sub/../../files-not/t.txt",
		"link/t.txt", "link.txt", "../lock",
	} {
		failsWith(t, load(name), 1290)
	}
	failsWith(t, load("nothing.txt"), 13)
	expect(t, rows(t, c, "SELECT a, b FROM t ORDER BY a"), "1 Müller", "2 two")
}

// A strict statement takes all of a file or nothing.
func TestLoadDataStrict(t *testing.T) {
	s := start(t)
	files := filepath.Join(s.cfg.Data, filesDir)
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	db := open(t, s)
	c := conn(t, db)
	exec(t, c, "CREATE DATABASE d")
	exec(t, c, "USE d")
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL DEFAULT 5)")
	for _, f := range []struct {
		text   string
		number uint16
	}{
		{"1\t1\n1\t2\n", 1062},
		{"1\t1\nx\t2\n", 1366},
		{"1\t1\n2\t\\N\n", 1048},
		{"1\n", 1261},
		{"1\t1\n2\t2\t2\n", 1262},
		{"1\t1\n2\t\n", 1366},
	} {
		if err := os.WriteFile(filepath.Join(files, "t"), []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := c.ExecContext(t.Context(), "LOAD DATA INFILE 't' INTO TABLE t")
		failsWith(t, err, f.number)
		expect(t, rows(t, c, "SELECT COUNT(*) FROM t"), "0")
	}
	if err := os.WriteFile(filepath.Join(files, "t"), []byte("1\n2\t\n3\t3\t3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "LOAD DATA INFILE 't' IGNORE INTO TABLE t") // a field that is missing, or empty for a number, is the default; one too many is dropped
	expect(t, rows(t, c, "SELECT * FROM t ORDER BY a"), "1 5", "2 5", "3 3")
	if w := rows(t, c, "SHOW WARNINGS"); len(w) != 0 {
		t.Errorf("warnings after a SELECT: %q", w)
	}
	exec(t, c, "DELETE FROM t")
	exec(t, c, "SET sql_mode = ''")
	exec(t, c, "LOAD DATA INFILE 't' INTO TABLE t")
	if w := rows(t, c, "SHOW WARNINGS"); len(w) != 2 {
		t.Errorf("warnings %q, want 1261 and 1262", w)
	}
	expect(t, rows(t, c, "SELECT * FROM t ORDER BY a"), "1 5", "2 5", "3 3")
}
