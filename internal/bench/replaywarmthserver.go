package bench

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
)

// ReplayWarmthServer is a server that a log is captured on and replayed to.
type ReplayWarmthServer struct {
	Name   string
	Color  chart.Color
	writes replay.Writes // what a replay makes of changes there: the best it offers

	// make a server over a folder that finds nothing of its pool when it starts, and logs every statement if log is not empty.
	// forget removes what it keeps outside of its folder.
	make func(c peer.Config, log string) (s *peer.Server, forget func() error, err error)
	pool func(name string) (replay.PageSet, error) // reads a list of its pool
	undo uint32                                    // space of the undo logs: a standby that replicates writes its own
}

// replayWarmthLog is the size of each server's redo log, in bytes: the smallest that hearth takes, for it is copied with the data.
const replayWarmthLog = 256 << 20

// poolFile is the name that both servers give the list of their pool.
const poolFile = "ib_buffer_pool"

// ReplayWarmthMariaDB is MariaDB as it is installed, InnoDB with direct I/O.
func ReplayWarmthMariaDB() ReplayWarmthServer {
	return ReplayWarmthServer{
		Name: "MariaDB", Color: chart.InnoDB, writes: replay.WritesRewrite, pool: readInnoDBPool, undo: 0,
		make: func(c peer.Config, log string) (*peer.Server, func() error, error) {
			c.Extra = []string{"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--innodb-fast-shutdown=0",
				"--innodb-stats-auto-recalc=0", "--innodb-buffer-pool-dump-pct=100", "--innodb-buffer-pool-filename=" + poolFile}
			if log != "" {
				c.Extra = append(c.Extra, "--log-output=FILE", "--slow-query-log=1", "--long-query-time=0", "--slow-query-log-file="+log)
			}
			s, err := peer.MariaDB(c)
			return s, func() error { return nil }, err
		},
	}
}

// ReplayWarmthHearth is hearth, of a binary; the memory that outlives it lies in a folder of memory, and is thrown away.
func ReplayWarmthHearth(binary, memory string) ReplayWarmthServer {
	return ReplayWarmthServer{
		Name: ours, Color: chart.Hearth, writes: replay.WritesFake, pool: readHeatDump, undo: 1,
		make: func(c peer.Config, log string) (*peer.Server, func() error, error) {
			c.Extra = []string{"--prewarm=off", "--heat-dump-interval=-1s", "--heat-dump-at-shutdown=off", "--flush"}
			if log != "" {
				c.Extra = append(c.Extra, "--slow-log", "--slow-log-file="+log, "--long-query-time=0s")
			}
			own, err := os.MkdirTemp(memory, "warmth-")
			if err != nil {
				return nil, nil, err
			}
			s, err := peer.Hearth(binary, own)(c)
			return s, func() error { return os.RemoveAll(own) }, err
		},
	}
}

func readInnoDBPool(name string) (replay.PageSet, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return replay.ReadPoolDump(bufio.NewReader(f), name)
}

func readHeatDump(name string) (replay.PageSet, error) {
	set := replay.PageSet{}
	_, err := heat.Pages(name, set.Add)
	return set, err
}

// start one over a folder.
func (w *replayWarmth) start(ctx context.Context, dir, log string) (s *peer.Server, remove func(), err error) {
	s, forget, err := w.server.make(peer.Config{Dir: dir, Pool: w.Pool, LogSize: replayWarmthLog}, log)
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		s.Kill()
		forget()
	}
	if err := s.Start(ctx); err != nil {
		remove()
		return nil, nil, err
	}
	return s, remove, nil
}

// restore starts one over a fresh copy of the data.
func (w *replayWarmth) restore(ctx context.Context, log string) (s *peer.Server, remove func(), err error) {
	dir, err := os.MkdirTemp(w.dir, "run-")
	if err != nil {
		return nil, nil, err
	}
	if err = copyTree(filepath.Join(w.golden(), "data"), filepath.Join(dir, "data")); err == nil {
		var stop func()
		if s, stop, err = w.start(ctx, dir, log); err == nil {
			return s, func() { stop(); os.RemoveAll(dir) }, nil
		}
	}
	os.RemoveAll(dir)
	return nil, nil, err
}

// dumpPool writes the list of the server's pool to a file.
func (w *replayWarmth) dumpPool(ctx context.Context, s *peer.Server, to string) error {
	if err := dumpOrLoad(ctx, s, "innodb_buffer_pool_dump_now", "Innodb_buffer_pool_dump_status", "dump completed"); err != nil {
		return err
	}
	return copyFile(filepath.Join(s.Data(), poolFile), to)
}

// dumpOrLoad asks for it and waits until the server says that it is done.
func dumpOrLoad(ctx context.Context, s *peer.Server, variable, status, done string) error {
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if s.Name == ours {
		if _, err := db.ExecContext(ctx, "SET GLOBAL innodb_buffer_pool_filename = '"+poolFile+"'"); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "SET GLOBAL "+variable+" = 1"); err != nil {
		return err
	}
	for {
		var name, value string
		if err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+status+"'").Scan(&name, &value); err != nil {
			return err
		}
		if strings.Contains(value, done) {
			return nil
		}
		if strings.Contains(value, "failed") {
			return fmt.Errorf("%s: %s", variable, value)
		}
		if err := after(50 * time.Millisecond)(ctx); err != nil {
			return err
		}
	}
}

// serverVersion asks it.
func serverVersion(ctx context.Context, db *sql.DB) (v string, err error) {
	err = db.QueryRowContext(ctx, "SELECT CONCAT(@@version, ' ', @@version_comment)").Scan(&v)
	return v, err
}
