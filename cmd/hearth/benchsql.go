package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/peer"
)

type benchSQLVerb struct {
	measureFlags
	Tables  int           `default:"4" help:"Tables of sysbench."`
	Rows    int           `default:"250000" help:"Rows in each table."`
	Pool    size          `default:"1GiB" help:"Buffer pool of each server."`
	LogSize size          `default:"1GiB" help:"Redo log of each server."`
	Scripts []string      `placeholder:"NAME,..." help:"Scripts of sysbench; default: point_select, read_only, read_write, update_index, update_non_index, insert, each with oltp_ before it."`
	Threads []int         `default:"1,8,64" help:"Numbers of threads of sysbench."`
	Runs    int           `default:"3" help:"Runs of each case; the median counts."`
	RunTime time.Duration `default:"10s" help:"Length of one run, in whole seconds."`
	Text    bool          `help:"Send statements as text instead of preparing them."`
	Rate    int           `placeholder:"N" help:"Transactions a second; default: as many as there can be."`

	Durability string `enum:"commit,process" default:"commit" help:"What a commit waits for: commit (the disk), process (the death of the process loses nothing, that of the machine up to a second)."`

	Servers []string `enum:"hearth,mariadb,gms-memory" default:"mariadb,hearth" help:"Servers that take turns: hearth, mariadb, gms-memory (go-mysql-server's own tables in memory; it looks a row up by reading all, so give it few)."`
}

// What --quick makes of the flags.
const (
	quickSQLTables = 1
	quickSQLRows   = 10_000
	quickSQLPool   = 128 << 20
)

func (v *benchSQLVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Tables, v.Rows, v.Pool, v.LogSize = quickSQLTables, quickSQLRows, quickSQLPool, 2*quickSQLPool
		v.Threads, v.Runs, v.RunTime = []int{8}, 1, time.Second
	}
	if len(v.Scripts) == 0 {
		v.Scripts = bench.SQLScripts
	}
	memory, remove, err := benchMemory()
	if err != nil {
		return err
	}
	defer remove()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start: %w", err)
	}
	make := map[string]func(peer.Config) (*peer.Server, error){"mariadb": peer.MariaDB, "hearth": peer.Hearth(self, memory),
		"gms-memory": peer.GMSMemory(self, "bench", "gms-memory")}
	cfg := bench.SQLConfig{
		Dir: v.Dir, Tables: v.Tables, Rows: v.Rows, Pool: int64(v.Pool), LogSize: int64(v.LogSize), Scripts: v.Scripts,
		Threads: v.Threads, Runs: v.Runs, RunTime: v.RunTime, Text: v.Text, Seed: v.Seed,
		Durable: v.Durability == "commit", Rate: v.Rate,
	}
	for _, name := range v.Servers {
		cfg.Servers = append(cfg.Servers, make[name])
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.SQL(ctx, cfg, out) })
}

// benchMemory makes a folder for the memory of servers under measurement.
func benchMemory() (dir string, remove func(), err error) {
	dir, err = bench.MemoryDir()
	return dir, func() { os.RemoveAll(dir) }, err
}

type benchGMSVerb struct {
	Socket string `arg:"" help:"Path of the unix socket."`
}

func (v *benchGMSVerb) Run(ctx context.Context) error { return bench.GMSMemory(ctx, v.Socket) }
