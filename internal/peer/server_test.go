package peer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A row that was committed is there after kill -9, and the server is gone after Stop.
func TestMariaDBLivesAndDies(t *testing.T) {
	for engine, start := range map[string]func(Config) (*Server, error){"InnoDB": MariaDB, "ROCKSDB": MyRocks} {
		t.Run(engine, func(t *testing.T) { livesAndDies(t, start, engine) })
	}
}

func livesAndDies(t *testing.T, start func(Config) (*Server, error), engine string) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "peer") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := start(Config{Dir: filepath.Join(dir, "m"), Pool: 64 << 20, LogSize: 16 << 20, Durable: true})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	db, err := s.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (7)"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var a int
	if err := db.QueryRow("SELECT a FROM d.t").Scan(&a); err != nil || a != 7 {
		t.Fatalf("got %d, %v", a, err)
	}
	var got string
	if err := db.QueryRow("SELECT engine FROM information_schema.tables WHERE table_schema = 'd'").Scan(&got); err != nil || got != engine {
		t.Fatalf("the table is in %s, %v, want %s", got, err, engine)
	}
	status, err := s.Status(ctx, db)
	if err != nil || status["Innodb_buffer_pool_pages_total"] == 0 {
		t.Fatalf("status: %v, %v", status["Innodb_buffer_pool_pages_total"], err)
	}
	if cpu, err := s.CPU(); err != nil || cpu <= 0 {
		t.Fatalf("CPU time: %v, %v", cpu, err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(); err == nil {
		t.Fatal("it answers after Stop")
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	s, err := MariaDB(Config{Dir: dir, Pool: 64 << 20, LogSize: 16 << 20, Extra: []string{"--no-such-option"}})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data", "mysql"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Fatalf("got %v, want an error that names the option", err)
	}
}
