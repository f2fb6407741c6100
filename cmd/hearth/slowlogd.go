package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/hearthdb/hearth/internal/slowlogd"
)

type slowlogdVerb struct {
	Log    string `required:"" type:"path" placeholder:"FILE" env:"HEARTH_SLOWLOGD_LOG" help:"The slow query log, or a symbolic link to it; waited for if it is not there."`
	Listen string `default:"${slowlogdListen}" env:"HEARTH_SLOWLOGD_LISTEN" help:"TCP address, host:port. Others than this machine need a token."`

	TLSCert   string `type:"existingfile" placeholder:"FILE" env:"HEARTH_SLOWLOGD_TLS_CERT" help:"Certificate: serve https."`
	TLSKey    string `type:"existingfile" placeholder:"FILE" env:"HEARTH_SLOWLOGD_TLS_KEY" help:"Its key."`
	TokenFile string `type:"existingfile" placeholder:"FILE" env:"HEARTH_SLOWLOGD_TOKEN_FILE" help:"File with the token that clients must send (Authorization: Bearer TOKEN)."`
	Insecure  bool   `help:"Serve other machines without a token. Statements have data and passwords in them."`

	MaxBehind  size          `default:"1GiB" env:"HEARTH_SLOWLOGD_MAX_BEHIND" help:"How far a client may fall behind, from where it began, before it is made to skip to the end; 0: any."`
	Heartbeat  time.Duration `default:"10s" env:"HEARTH_SLOWLOGD_HEARTBEAT" help:"How often a client hears of us when there is nothing to send."`
	Stall      time.Duration `default:"5m" env:"HEARTH_SLOWLOGD_STALL" help:"How long a client may accept nothing before it is dropped."`
	MaxClients int           `default:"100" env:"HEARTH_SLOWLOGD_MAX_CLIENTS" help:"Clients at a time."`
	Cores      int           `default:"1" env:"HEARTH_SLOWLOGD_CORES" help:"Cores it may use at a time. It is a guest of the active server, and is cheapest on one."`
	Look       time.Duration `default:"1s" help:"How often files are looked at when nothing tells that they changed."`
	Grace      time.Duration `default:"250ms" help:"How long a rotated file is read on after the new one has something in it."`

	LogLevel slog.Level `default:"info" env:"HEARTH_SLOWLOGD_LOG_LEVEL" help:"debug, info, warn or error."`
}

// Help is shown by --help.
func (slowlogdVerb) Help() string {
	return `GET /slow streams the log from now on, without an end. Parameters:
  since=TOKEN|-10m|start   from a place in this file or one it was rotated to, also .gz and .zst
  follow=0                 end at the end of the log
  rate_limit=N             one in N, of sample=entry|session|statement
  schema= user= text=      only entries of these schemas, users, with this text
  redact=1|literals        without passwords; without any string or number
  format=raw|framed|json
Tokens are in the header Slowlog-Cursor and in lines "# slowlogd: at TOKEN". gzip and zstd by Accept-Encoding.
GET /status, /metrics and /healthz tell how it goes.

  hearth slowlogd --log /var/lib/mysql/slow.log &
  curl -sN http://127.0.0.1:3307/slow | hearth replay --from - --to DSN`
}

// Run serves until it is told to stop.
func (v *slowlogdVerb) Run(ctx context.Context) error {
	if v.Cores < 1 {
		return fmt.Errorf("--cores %d: at least 1", v.Cores)
	}
	runtime.GOMAXPROCS(v.Cores) // with more than one, each wake-up wakes another thread, which looks for work that is not there
	err := slowlogd.Run(ctx, slowlogd.Config{
		Log: v.Log, Listen: v.Listen, TLSCert: v.TLSCert, TLSKey: v.TLSKey, TokenFile: v.TokenFile, Insecure: v.Insecure,
		MaxBehind: int64(v.MaxBehind), Heartbeat: v.Heartbeat, Stall: v.Stall, MaxClients: v.MaxClients, Look: v.Look, Grace: v.Grace,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: v.LogLevel})),
	})
	if err == nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return err
}
