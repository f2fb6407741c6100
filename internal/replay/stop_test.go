package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/slowlog"
)

// fixed gives some statements and ends.
type fixed struct {
	text    string
	n, most int
}

func (s *fixed) Next(e *slowlog.Entry) error {
	if s.n == s.most {
		return errEOF
	}
	*e = slowlog.Entry{Offset: int64(s.n), End: int64(s.n + 1), Kind: slowlog.Query, Text: []byte(fmt.Sprintf(s.text, s.n)), Schema: []byte("mysql"), SchemaKnown: true,
		ThreadID: uint64(s.n % 8), HasThreadID: true}
	s.n++
	return nil
}

func (s *fixed) Place() Place { return Place{Offset: int64(s.n)} }
func (s *fixed) Close() error { return nil }

// The input has ended, much of it waits, and the target is gone for good: who stops the replay now is not kept waiting for it.
func TestStopWithoutTheTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a MariaDB")
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(dir, "m"), Pool: 16 << 20, LogSize: 16 << 20})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), Config{
		Target:      TargetConfig{DSN: s.DSN(""), Writes: WritesRewrite, MayWrite: true, AccountWrite: true},
		Connections: 4, QueueBytes: DefaultQueueBytes, Policy: PolicyBlock,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	// None of them ends before the server is killed, however fast its machine is.
	slow := "SELECT COUNT(*), %d FROM help_topic a, help_topic b, help_topic c, help_topic d WHERE a.name < b.name AND c.name < d.name"
	go func() {
		ended <- p.Run(ctx, &fixed{text: slow, most: 2000})
	}()
	eventually(t, "all is queued, and some of it sent", func() bool { return p.closing() && p.Status().Sent > 0 })
	s.Kill()
	eventually(t, "it is noticed", func() bool { return !p.Status().Open })
	if n := p.Status().Queue.Waiting; n == 0 {
		t.Fatal("nothing waits any more: this shows nothing")
	}
	cancel()
	eventually(t, "the replay ends", func() bool { return len(ended) == 1 })
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
