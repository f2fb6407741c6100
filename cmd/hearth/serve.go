package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/server"
)

type serveVerb struct {
	Config kong.ConfigFlag `type:"existingfile" placeholder:"FILE" env:"HEARTH_CONFIG" help:"File with a line \"name = value\" for each of these flags that is to have another default."`

	Data   string `type:"path" placeholder:"DIR" env:"HEARTH_DATA" help:"The database; made if there is none."`
	Listen string `default:"${listen}" env:"HEARTH_LISTEN" help:"TCP address for clients, host:port; \"off\": none."`
	Socket string `placeholder:"DATA/mysql.sock" env:"HEARTH_SOCKET" help:"Unix socket for clients; \"off\": none."`

	Pool       size              `default:"${poolSize}" env:"HEARTH_POOL" help:"Pages in memory."`
	Log        size              `default:"${logSize}" env:"HEARTH_LOG" help:"Log behind which changed pages are written."`
	Memory     hearth.MemoryMode `default:"auto" enum:"auto,require,off" env:"HEARTH_MEMORY" help:"Memory that outlives the process: auto, require or off."`
	MemoryDir  string            `default:"${memoryDir}" type:"path" env:"HEARTH_MEMORY_DIR" help:"Where that memory is, a tmpfs."`
	Durability hearth.Durability `default:"commit" enum:"commit,process" env:"HEARTH_DURABILITY" help:"When a commit is acknowledged: commit (it survives a power cut) or process (it survives kill -9)."`
	LockWait   time.Duration     `default:"${lockWait}" env:"HEARTH_LOCK_WAIT" help:"How long a row lock is waited for."`

	HeatDumpInterval   time.Duration      `default:"1m" env:"HEARTH_HEAT_DUMP_INTERVAL" help:"How often the list of pages in memory is written; negative: never."`
	HeatDumpPercent    int                `default:"100" env:"HEARTH_HEAT_DUMP_PERCENT" help:"Percent of the pool that is listed, the hottest pages, 1 to 100."`
	HeatDumpAtShutdown hearth.Switch      `default:"on" enum:"on,off" env:"HEARTH_HEAT_DUMP_AT_SHUTDOWN" help:"Write the list when the server stops: on or off."`
	Prewarm            hearth.PrewarmMode `default:"background" enum:"background,blocking,off" env:"HEARTH_PREWARM" help:"What a start that finds no memory does with the newest list: background, blocking or off."`
	PrewarmLimit       time.Duration      `default:"1m" env:"HEARTH_PREWARM_LIMIT" help:"How long a blocking prewarm keeps clients waiting; the rest of it goes on behind them."`
	PrewarmFloor       int                `default:"10" env:"HEARTH_PREWARM_FLOOR" help:"Percent of the disk's throughput that a prewarm gets beside busy clients, 1 to ${maxPrewarmFloor}."`
	PrewarmFile        string             `type:"path" placeholder:"FILE" env:"HEARTH_PREWARM_FILE" help:"The list to load at start; default: the newest of the database."`
	PrewarmOrder       hearth.LoadOrder   `default:"heat" enum:"heat,physical" env:"HEARTH_PREWARM_ORDER" help:"heat: hot pages first; physical: by place on the disk, for comparison."`

	MaxConnections  int           `default:"${maxConnections}" env:"HEARTH_MAX_CONNECTIONS" help:"Clients at a time."`
	MaxPacket       size          `default:"${maxPacket}" env:"HEARTH_MAX_PACKET" help:"Longest statement."`
	MemoryLimit     size          `placeholder:"SIZE" env:"HEARTH_MEMORY_LIMIT" help:"Memory for connections, sorts and results, beyond the pool. Default: half of what the machine has beyond it."`
	WaitTimeout     time.Duration `default:"${waitTimeout}" env:"HEARTH_WAIT_TIMEOUT" help:"How long a client may be idle."`
	ShutdownTimeout time.Duration `default:"${shutdownTimeout}" env:"HEARTH_SHUTDOWN_TIMEOUT" help:"How long running statements may go on when the server stops."`
	Flush           bool          `env:"HEARTH_FLUSH" help:"Stop with every page written to its file: for a stop after which the machine goes down."`

	TLSCert                string `type:"existingfile" placeholder:"FILE" env:"HEARTH_TLS_CERT" help:"Certificate for TLS. Default: one that the server makes itself."`
	TLSKey                 string `type:"existingfile" placeholder:"FILE" env:"HEARTH_TLS_KEY" help:"Its key."`
	NoTLS                  bool   `name:"no-tls" env:"HEARTH_NO_TLS" help:"Offer no TLS."`
	RequireSecureTransport bool   `env:"HEARTH_REQUIRE_SECURE_TRANSPORT" help:"Refuse clients without TLS, but on the unix socket."`

	ReadOnly bool `env:"HEARTH_READ_ONLY" help:"Refuse changes of accounts without SUPER or READ_ONLY_ADMIN, as a standby does; while the server runs, with SET GLOBAL read_only."`

	SlowLog       bool          `env:"HEARTH_SLOW_LOG" help:"Log slow statements; while the server runs, with SET GLOBAL slow_query_log."`
	SlowLogFile   string        `type:"path" placeholder:"DATA/HOSTNAME-slow.log" env:"HEARTH_SLOW_LOG_FILE" help:"Where to."`
	LongQueryTime time.Duration `default:"${longQueryTime}" env:"HEARTH_LONG_QUERY_TIME" help:"A statement that takes as long is slow; 0s: every statement."`

	LogLevel    slog.Level `default:"info" env:"HEARTH_LOG_LEVEL" help:"debug, info, warn or error."`
	PrintConfig bool       `help:"Print the configuration as a file for --config, and end."`
}

// Validate refuses what the engine would take for its default: in its options that is 0, and there is no 0 that is meant.
func (v *serveVerb) Validate() error {
	switch {
	case v.HeatDumpInterval == 0:
		return errors.New("--heat-dump-interval is 0s, want more, or below 0 for none")
	case v.HeatDumpPercent == 0:
		return errors.New("--heat-dump-percent is 0, want 1 to 100")
	case v.PrewarmLimit == 0:
		return errors.New("--prewarm-limit is 0s, want more; clients wait for no prewarm with --prewarm background")
	case v.PrewarmFloor == 0:
		return fmt.Errorf("--prewarm-floor is 0, want 1 to %d", hearth.MaxPrewarmFloor)
	}
	return nil
}

// Run serves until it is told to stop.
func (v *serveVerb) Run(ctx context.Context, k *kong.Context) error {
	if v.PrintConfig {
		return printConfig(os.Stdout, k)
	}
	if v.Data == "" {
		return fmt.Errorf("serve: which directory? Give it with --data, HEARTH_DATA or a line \"data = DIR\" in the file of --config")
	}
	activated, err := server.InheritedListeners()
	if err != nil {
		return err
	}
	// SIGHUP, which ends other verbs, is for the server to open its logs again.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	longQueryTime := v.LongQueryTime
	if longQueryTime == 0 {
		longQueryTime = -1 // in a Config 0 is the default
	}
	return server.Run(ctx, server.Config{
		Data: v.Data,
		Engine: hearth.Options{
			PoolSize: int64(v.Pool), LogSize: int64(v.Log), Memory: v.Memory, MemoryDir: v.MemoryDir,
			Durability: v.Durability, LockWait: v.LockWait,
			HeatDumpInterval: v.HeatDumpInterval, HeatDumpPercent: v.HeatDumpPercent, HeatDumpAtShutdown: v.HeatDumpAtShutdown,
			Prewarm: v.Prewarm, PrewarmLimit: v.PrewarmLimit, PrewarmFloor: v.PrewarmFloor, PrewarmFile: v.PrewarmFile, PrewarmOrder: v.PrewarmOrder,
		},
		Listen: v.Listen, Socket: v.Socket, Activated: activated,
		MaxConnections: v.MaxConnections, MaxPacket: int64(v.MaxPacket), MemoryLimit: int64(v.MemoryLimit), WaitTimeout: v.WaitTimeout,
		TLSCert: v.TLSCert, TLSKey: v.TLSKey, NoTLS: v.NoTLS, RequireSecureTransport: v.RequireSecureTransport,
		ShutdownTimeout: v.ShutdownTimeout, Flush: v.Flush, ReadOnly: v.ReadOnly,
		SlowLog: v.SlowLog, SlowLogFile: v.SlowLogFile, LongQueryTime: longQueryTime,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: v.LogLevel})),
	}, os.Stdout)
}
