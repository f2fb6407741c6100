// Command hearth is the one binary of the project: it serves a database, and checks, measures and tortures its
// storage engine. One file holds one verb.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/replay"
	"github.com/hearthdb/hearth/internal/server"
	"github.com/hearthdb/hearth/internal/slowlogd"
	"github.com/hearthdb/hearth/internal/sqltorture"
	"github.com/hearthdb/hearth/internal/torture"
)

// cli is the whole command line; the help is generated from it.
type cli struct {
	Serve        serveVerb        `cmd:"" help:"Serve a database to clients of MySQL."`
	Demo         demoVerb         `cmd:"" help:"See four restarts under load, among them kill -9, and what users notice of them."`
	Warm         warmVerb         `cmd:"" help:"Steer the warmth of a running server: dump, load, pause, resume, cancel, status."`
	Replay       replayVerb       `cmd:"" help:"Keep a standby warm: play the log of its primary to it, changing nothing."`
	Heat         heatVerb         `cmd:"" help:"Look at heat dumps."`
	Slowlogd     slowlogdVerb     `cmd:"" help:"Serve a slow query log over HTTP while it is written and rotated."`
	Check        checkVerb        `cmd:"" help:"Prove a database sound: every page, and the tables of SQL with their indexes and definitions."`
	Bench        benchVerb        `cmd:"" help:"Measure the engine, beside others where others exist."`
	Torture      tortureVerb      `cmd:"" help:"Kill the engine or a server at random moments and prove that nothing acknowledged is lost."`
	TortureChild tortureChildVerb `cmd:"" hidden:"" help:"The process that torture kills."`
	Version      versionVerb      `cmd:"" help:"Print the version of this binary."`
}

func main() { os.Exit(run(os.Args[1:])) }

// run is main without the exit, so that what a verb deferred has happened when it returns.
func run(args []string) int {
	if old, is := isPlayback(os.Args[0], args); is {
		var notes []string
		args, notes = fromPlayback(old)
		for _, n := range notes {
			fmt.Fprintln(os.Stderr, "hearth:", n)
		}
	}
	parser := newParser()
	verb, err := parser.Parse(args)
	parser.FatalIfErrorf(err)

	// The first Ctrl-C asks the verb to end and to clean up; the second one kills. Output
	// that nobody reads any more is an error like others, so that there is cleaning up, too.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	defer stop()
	context.AfterFunc(ctx, stop)

	verb.BindTo(ctx, (*context.Context)(nil))
	switch err := verb.Run(); {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "hearth: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintln(os.Stderr, "hearth:", err)
		return exitFailed
	}
}

func newParser() *kong.Kong {
	return kong.Must(&cli{},
		kong.Name("hearth"),
		kong.Description("A storage engine whose restarts nobody notices."),
		kong.Vars{
			"memoryDir":       hearth.DefaultMemoryDir,
			"poolSize":        strconv.Itoa(hearth.DefaultPoolSize),
			"logSize":         strconv.Itoa(hearth.DefaultLogSize),
			"maxPrewarmFloor": strconv.Itoa(hearth.MaxPrewarmFloor),
			"lockWait":        hearth.DefaultLockWait.String(),
			"listen":          server.DefaultListen,
			"maxConnections":  strconv.Itoa(server.DefaultMaxConnections),
			"maxPacket":       strconv.Itoa(server.DefaultMaxPacket),
			"waitTimeout":     server.DefaultWaitTimeout.String(),
			"longQueryTime":   server.DefaultLongQueryTime.String(),
			"shutdownTimeout": server.DefaultShutdownTimeout.String(),
			"kills":           strconv.Itoa(torture.DefaultKills),
			"tortureRows":     strconv.Itoa(torture.DefaultRows),
			"tortureWriters":  strconv.Itoa(torture.DefaultWriters),
			"sqlKills":        strconv.Itoa(sqltorture.DefaultKills),
			"sqlClients":      strconv.Itoa(sqltorture.DefaultClients),
			"sqlLoadTime":     sqltorture.DefaultLoadTime.String(),
			"slowlogdListen":  slowlogd.DefaultListen,
			"sqlCanaries":     canaries(),

			"replayConnections": strconv.Itoa(replay.DefaultConnections),
			"replayPipeline":    strconv.Itoa(replay.DefaultPipeline),
			"replayParts":       strings.Join(bench.ReplayParts(), ","),
			"replayQueueAge":    replay.DefaultQueueAge.String(),
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ShortUsageOnError(),
		kong.Configuration(loadConfig),
	)
}

// Exit codes. 130 is what a shell reports for a program that Ctrl-C ended.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)
