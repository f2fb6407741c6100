package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
)

type checkVerb struct {
	Data      string `required:"" type:"path" placeholder:"DIR" help:"The database; nobody else may have it open."`
	MemoryDir string `default:"${memoryDir}" type:"path" help:"Where its memory that outlives the process is."`
	Pool      size   `default:"${poolSize}" help:"Pages in memory, if the database has left none there; else it keeps the size it has."`
}

// controlFile is in every database.
const controlFile = "control"

// checkProgress is how often a check says that it is still at work.
const checkProgress = 2 * time.Second

// Run recovers the database if it needs it, as any start does, and then reads all of it: first the engine's pages, then, if it holds
// tables of SQL, their definitions, rows and indexes.
func (v *checkVerb) Run(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(v.Data, controlFile)); err != nil {
		return fmt.Errorf("%s holds no database: %w", v.Data, err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := hearth.Open(ctx, v.Data, &hearth.Options{PoolSize: int64(v.Pool), KeepPool: true, MemoryDir: v.MemoryDir, Logger: logger})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, db.StartReport())
	problems, err := checkAloud(ctx, db)
	if err == nil {
		var above []string
		above, err = sql.Check(ctx, db)
		problems = append(problems, above...)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("check: %d findings", len(problems))
	}
	fmt.Println("check=clean")
	return nil
}

// checkAloud reports on standard error while the check takes long.
func checkAloud(ctx context.Context, db *hearth.DB) ([]string, error) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		began, pages := time.Now(), db.Stats().Pool.Misses
		for {
			select {
			case <-done:
				return
			case <-time.After(checkProgress):
				fmt.Fprintf(os.Stderr, "checking for %.0f s, %d pages read from files\n",
					time.Since(began).Seconds(), db.Stats().Pool.Misses-pages)
			}
		}
	}()
	return db.Check(ctx)
}
