package replay

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/hearthdb/hearth/internal/slowlog"
	"github.com/hearthdb/hearth/internal/slowlogd"
)

// The real daemon serves a log that grows; a reader goes away in the middle and comes back with its place, and has every entry
// once.
func TestTheDaemonsStreamIsResumed(t *testing.T) {
	log := filepath.Join(t.TempDir(), "slow.log")
	write := func(from, to int) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := from; i < to; i++ {
			b := slowlog.AppendEntry(nil, &slowlog.Entry{Kind: slowlog.Query, Text: fmt.Appendf(nil, "SELECT %d", i), Schema: fmt.Appendf(nil, "s%d", i/10), SchemaKnown: true,
				ThreadID: 1, HasThreadID: true}, false)
			if _, err := f.Write(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, 50)
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- slowlogd.Run(ctx, slowlogd.Config{Log: log, Listen: "127.0.0.1:0", Ready: func(a net.Addr) { ready <- a }})
	}()
	defer func() { cancel(); <-ended }()
	var addr net.Addr
	select {
	case addr = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	url := "http://" + addr.String() + "/slow"
	src, err := OpenSource(ctx, SourceConfig{From: url + "?since=start"})
	if err != nil {
		t.Fatal(err)
	}
	var e slowlog.Entry
	next := func(src Source, want int) {
		t.Helper()
		if err := src.Next(&e); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s in %s", e.Text, e.Schema); got != fmt.Sprintf("SELECT %d in s%d", want, want/10) {
			t.Fatalf("got %s, want entry %d", got, want)
		}
	}
	for i := range 33 {
		next(src, i)
	}
	at := src.Place()
	src.Close()
	if at.Token == "" {
		t.Fatal("the stream has no place to go on from")
	}
	write(50, 80)
	if src, err = OpenSource(ctx, SourceConfig{From: url, At: at}); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for i := 33; i < 79; i++ {
		next(src, i)
	}
}
