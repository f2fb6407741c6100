package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/replay"
	"github.com/hearthdb/hearth/internal/slowlog"
)

// replayVerb plays logs of statements to a standby.
type replayVerb struct {
	Run     replayRunVerb     `cmd:"" default:"withargs" help:"Play the statements of a slow log to a standby, so that its cache is warm; nothing there is changed."`
	Compare replayCompareVerb `cmd:"" help:"Say how much of a primary's pool its standby holds, from two dumps."`
	Warmth  replayWarmthVerb  `cmd:"" help:"Repeat the founding experiment on MariaDB and hearth: how much less a server reads for one chunk of a log after another chunk warmed it."`
	Explain replayExplainVerb `cmd:"" help:"Say of entries how they were framed, what they are, what would be sent and why not."`
}

// replayInputFlags say where entries come from and which of them count.
type replayInputFlags struct {
	From           string   `placeholder:"URL|FILE|-" help:"Where the log comes from: a hearth slowlogd (http://host:3307/slow), a file, also .gz and .zst, or - for standard input."`
	Input          string   `enum:"slow,general,slow-table,perf-schema" default:"slow" help:"What it is: a slow log, a general log, or, with a DSN as --from, the table mysql.slow_log or the history of performance_schema."`
	Token          string   `env:"HEARTH_SLOWLOGD_TOKEN" help:"Token for the daemon."`
	Schema         string   `help:"Schema of entries whose log does not tell; default: that of --to."`
	Writes         string   `enum:"rewrite,skip,fake" default:"rewrite" help:"What becomes of changes: rewrite (reads of the pages they would touch), skip, or fake (sent in sessions with innodb_fake_changes, where the server has it)."`
	Allow          []string `name:"allow-function" placeholder:"NAME,..." help:"Stored functions that reads may call: they are known to change nothing."`
	User           []string `help:"Only entries of these users."`
	NotUser        []string `help:"No entries of these users."`
	OnlyIn         []string `name:"only-schema" help:"Only entries in these schemas."`
	NotIn          []string `name:"not-schema" help:"No entries in these schemas."`
	Match          string   `placeholder:"REGEXP" help:"Only entries whose text matches."`
	NotMatch       string   `placeholder:"REGEXP" help:"No entries whose text matches."`
	Sample         float64  `placeholder:"SHARE" help:"Only this share of the entries, by chance: 0.1."`
	SampleSessions float64  `placeholder:"SHARE" help:"Only this share of the sessions, each whole."`
	JSON           bool     `name:"json" help:"Print one JSON object a line instead of text."`
}

func (f *replayInputFlags) config() (replay.Config, error) {
	c := replay.Config{
		Target: replay.TargetConfig{Writes: replay.Writes(f.Writes)},
		Schema: f.Schema,
		Filter: replay.Filter{Users: f.User, NotUsers: f.NotUser, Schemas: f.OnlyIn, NotSchemas: f.NotIn, Entries: f.Sample, Sessions: f.SampleSessions},
	}
	for _, a := range f.Allow {
		c.Allow = append(c.Allow, strings.ToLower(a))
	}
	var err error
	if f.Match != "" {
		if c.Filter.Match, err = regexp.Compile(f.Match); err != nil {
			return c, fmt.Errorf("--match: %w", err)
		}
	}
	if f.NotMatch != "" {
		if c.Filter.NotMatch, err = regexp.Compile(f.NotMatch); err != nil {
			return c, fmt.Errorf("--not-match: %w", err)
		}
	}
	return c, nil
}

type replayRunVerb struct {
	replayInputFlags
	To     string `placeholder:"DSN" help:"The standby: user:password@tcp(host:port)/schema, or user@unix(/path/to/socket)/."`
	Source string `placeholder:"DSN" help:"The server the log is of, to prove that the target is another one."`

	AllowWritable       bool `help:"Go on although the target is not read_only."`
	AllowWritingAccount bool `help:"Go on although the account could change something."`
	DryRun              bool `help:"Send nothing; say of each entry what would be sent."`

	Connections int           `default:"${replayConnections}" help:"Statements at once, at most."`
	Pipeline    int           `default:"${replayPipeline}" help:"Statements on their way on one connection when more wait than there are connections for; 1: each waits for the answer before, as some proxies want."`
	Pace        string        `default:"now" help:"now, original, or a factor of the log's own time: x2, x0.5."`
	MaxRate     float64       `placeholder:"N" help:"Entries a second, at most."`
	MaxIdle     time.Duration `help:"With --pace original or a factor: cut gaps in the log to this."`

	QueueSize   size          `default:"64MiB" help:"Bytes that may wait."`
	QueueAge    time.Duration `default:"${replayQueueAge}" help:"How long a statement may wait."`
	QueuePolicy string        `enum:"block,drop-oldest,drop-newest,sample,novelty" default:"novelty" help:"What happens when the target is too slow: block, drop-oldest, drop-newest, sample, novelty (first shed what was replayed lately, then what is common)."`
	Dedupe      bool          `help:"Leave out statements that were replayed while their pages are still in the target's pool."`
	Residency   time.Duration `help:"How long a page stays in the target's pool; default: estimated from its reads."`

	MaxTime  time.Duration `default:"10s" help:"Time of one statement."`
	MaxRows  int64         `default:"1000000" help:"Rows of one result that are read and thrown away."`
	MaxBytes size          `default:"256MiB" help:"Bytes of one result that are read and thrown away."`

	SessionInit string `placeholder:"SQL" help:"One SET, run on every connection."`
	Checkpoint  string `type:"path" placeholder:"FILE" help:"Keep the place in the log in this file, and go on from it."`

	MetricsListen string        `placeholder:"ADDR" help:"Serve /metrics and /status here, such as 127.0.0.1:9307."`
	StatusEvery   time.Duration `default:"5s" help:"How often a line of status is written to standard error; 0: never."`
}

func (v *replayRunVerb) Run(ctx context.Context) error {
	switch {
	case v.From == "":
		return errors.New("--from is missing: give the address of a hearth slowlogd, a file, or - for standard input")
	case v.To == "" && !v.DryRun:
		return errors.New("--to is missing: give the standby, as user:password@tcp(host:port)/schema")
	case v.Checkpoint != "" && (v.From == "-" || v.Input == string(replay.InputSlowTable) || v.Input == string(replay.InputPerfSchema)):
		return errors.New("--checkpoint: this input cannot be gone on from; give a file, or the address of a hearth slowlogd")
	}
	cfg, err := v.config()
	if err != nil {
		return err
	}
	if cfg.Pace, err = replay.ParsePace(v.Pace); err != nil {
		return err
	}
	cfg.Pace.PerSec, cfg.Pace.MaxIdle = v.MaxRate, v.MaxIdle
	cfg.Target.DSN, cfg.Target.Source, cfg.Target.SessionInit = v.To, v.Source, v.SessionInit
	cfg.Target.MayWrite, cfg.Target.AccountWrite = v.AllowWritable, v.AllowWritingAccount
	cfg.Target.Limits = replay.Limits{Time: v.MaxTime, Rows: v.MaxRows, Bytes: int64(v.MaxBytes)}
	cfg.Connections, cfg.QueueBytes, cfg.QueueAge, cfg.Policy = v.Connections, int64(v.QueueSize), v.QueueAge, replay.Policy(v.QueuePolicy)
	cfg.Dedupe, cfg.Residency, cfg.Pipeline = v.Dedupe, v.Residency, v.Pipeline
	cfg.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "hearth: "+format+"\n", args...) }

	var at replay.Place
	if v.Checkpoint != "" {
		if at, err = replay.LoadCheckpoint(v.Checkpoint, v.From); err != nil {
			return err
		}
	}
	open := func() (replay.Source, error) {
		return replay.OpenSource(ctx, replay.SourceConfig{From: v.From, Input: replay.Input(v.Input), Token: v.Token, At: at, Log: cfg.Log})
	}
	if v.DryRun {
		return explainAll(ctx, cfg, open, v.JSON, func(int, *slowlog.Entry) bool { return true })
	}
	p, err := replay.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer p.Close()
	src, err := open()
	if err != nil {
		return err
	}
	defer src.Close()
	if v.MetricsListen != "" {
		close, err := serveReplay(p, v.MetricsListen)
		if err != nil {
			return err
		}
		defer close()
	}
	background, stop := context.WithCancel(context.Background())
	told := make(chan struct{})
	go func() {
		defer close(told)
		v.tell(background, p, cfg.Log)
	}()
	err = p.Run(ctx, src)
	stop()
	<-told
	if v.Checkpoint != "" {
		err = errors.Join(err, replay.SaveCheckpoint(v.Checkpoint, v.From, p.Place()))
	}
	if v.JSON {
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(p.Status()))
	}
	fmt.Println(p.Accounts.Totals())
	return err
}

// checkpointEvery is how much is sent again after a kill -9, at most.
const checkpointEvery = time.Second

// tell writes lines of status and checkpoints until ctx ends.
func (v *replayRunVerb) tell(ctx context.Context, p *replay.Player, log func(string, ...any)) {
	last, at, saved := p.Status(), time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(checkpointEvery, max(v.StatusEvery, 100*time.Millisecond))):
		}
		now := time.Now()
		if v.StatusEvery > 0 && now.Sub(at) >= v.StatusEvery {
			s := p.Status()
			log("%s", s.Line(last, now.Sub(at)))
			last, at = s, now
		}
		if v.Checkpoint != "" && now.Sub(saved) >= checkpointEvery {
			if err := replay.SaveCheckpoint(v.Checkpoint, v.From, p.Place()); err != nil {
				log("%v", err)
			}
			saved = now
		}
	}
}

// serveReplay answers /metrics and /status.
func serveReplay(p *replay.Player, addr string) (close func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.Metrics())
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(p.Status())
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go s.Serve(l)
	return func() { s.Close() }, nil
}

type replayExplainVerb struct {
	replayInputFlags
	To    string `placeholder:"DSN" help:"A server with the tables, so that changes can be rewritten."`
	Entry int    `placeholder:"N" help:"Only this entry, from 1."`
	At    int64  `placeholder:"OFFSET" default:"-1" help:"Only the entry that holds this byte."`
}

func (v *replayExplainVerb) Run(ctx context.Context) error {
	if v.From == "" {
		return errors.New("--from is missing: give a file, or - for standard input")
	}
	cfg, err := v.config()
	if err != nil {
		return err
	}
	cfg.Target.DSN = v.To
	open := func() (replay.Source, error) {
		return replay.OpenSource(ctx, replay.SourceConfig{From: v.From, Input: replay.Input(v.Input), Token: v.Token})
	}
	found := false
	err = explainAll(ctx, cfg, open, v.JSON, func(n int, e *slowlog.Entry) bool {
		hit := (v.Entry == 0 || n == v.Entry) && (v.At < 0 || e.Offset <= v.At && v.At < e.End)
		found = found || hit
		return hit
	})
	if err == nil && !found {
		return fmt.Errorf("%s has no such entry", v.From)
	}
	return err
}

// explainAll tells of the entries that are wanted; all others are read, too, for sessions have a state.
func explainAll(ctx context.Context, cfg replay.Config, open func() (replay.Source, error), asJSON bool, want func(n int, e *slowlog.Entry) bool) error {
	x, err := replay.NewExplainer(ctx, cfg)
	if err != nil {
		return err
	}
	defer x.Close()
	src, err := open()
	if err != nil {
		return err
	}
	defer src.Close()
	context.AfterFunc(ctx, func() { src.Close() })
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	var e slowlog.Entry
	for n := 1; ; n++ {
		switch err := src.Next(&e); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		what := x.Explain(ctx, &e)
		if !want(n, &e) {
			continue
		}
		if asJSON {
			err = out.Encode(what)
		} else if err = what.WriteText(os.Stdout); err == nil {
			_, err = fmt.Println()
		}
		if err != nil {
			return err
		}
	}
}
