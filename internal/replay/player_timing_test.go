package replay

import (
	"context"
	"fmt"
	"testing"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// counted gives n point reads of many sessions.
type counted struct {
	n, i int
	text []byte
}

func (s *counted) Next(e *slowlog.Entry) error {
	if s.i >= s.n {
		return errEOF
	}
	s.text = fmt.Appendf(s.text[:0], "SELECT b FROM t WHERE a = %d", 1+s.i*7919%1000)
	*e = slowlog.Entry{Offset: int64(s.i), End: int64(s.i + 1), Kind: slowlog.Query, Text: s.text, Schema: []byte("pair"), SchemaKnown: true, ThreadID: uint64(s.i % 64), HasThreadID: true}
	s.i++
	return nil
}

func (s *counted) Place() Place { return Place{Offset: int64(s.i)} }
func (s *counted) Close() error { return nil }

// BenchmarkPointReads replays point reads to MariaDB over its socket; entries/s beside sysbench's oltp_point_select with
// --db-ps-mode=disable says what the replayer costs.
func BenchmarkPointReads(b *testing.B) {
	s := mariadb(b)
	db := open(b, s, "")
	db.SetMaxOpenConns(1)
	exec(b, db, pairSchema...)
	for _, connections := range []int{4, 16, 64} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) {
			c := config(b, s)
			c.Connections, c.Log = connections, nil
			p, err := New(context.Background(), c)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			b.ResetTimer()
			if err := p.Run(context.Background(), &counted{n: b.N}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			if t := p.Accounts.Totals(); t.Sum(Run) != int64(b.N) {
				b.Fatal(t)
			}
		})
	}
}
