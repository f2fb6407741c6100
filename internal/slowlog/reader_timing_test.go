package slowlog_test

import (
	"bytes"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// mysqlLog is a log of MySQL 8.0 with entries of about 400 bytes, as the bar of the reader asks for.
func mysqlLog(entries int) []byte {
	log := slowlog.AppendBanner(nil, "/usr/sbin/mysqld", "8.0.36 (MySQL Community Server - GPL)", 3306, "/run/mysqld.sock")
	for i := range entries {
		log = fmt.Appendf(log, "# Time: 2025-05-05T05:%02d:%02d.%06dZ\n# User@Host: app[app] @ web1 [10.2.0.3]  Id: %5d\n"+
			"# Query_time: 0.000200  Lock_time: 0.000004 Rows_sent: 1  Rows_examined: 17\n", i/60%60, i%60, i%1e6, i%200)
		if i%10 == 0 {
			log = fmt.Appendf(log, "use shop%d;\n", i/10%3)
		}
		log = fmt.Appendf(log, "SET timestamp=1746421501;\nSELECT o.id, o.state, c.name, c.email FROM orders o JOIN customer c ON c.id = o.customer_id "+
			"WHERE o.shop = %d AND o.state IN ('open', 'paid', 'it''s late') AND c.email = 'someone.with.a.name+%d@example.net' "+
			"ORDER BY o.created DESC LIMIT 20;\n", i%100, i)
	}
	return log
}

func benchmarkReader(b *testing.B, log []byte, o slowlog.Options) {
	var e slowlog.Entry
	r := slowlog.NewReader(bytes.NewReader(log), o)
	entries := 0
	for r.Next(&e) != io.EOF {
		entries++
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	before := userTime(b)
	for b.Loop() {
		r := slowlog.NewReader(bytes.NewReader(log), o)
		for r.Next(&e) != io.EOF {
		}
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(len(log))*float64(b.N)/1e6/(userTime(b)-before).Seconds(), "MB/CPU-s") // whoever else needs the cores
}

// userTime is how long this process has computed.
func userTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}

func BenchmarkReader(b *testing.B) {
	b.Run("mysql", func(b *testing.B) { benchmarkReader(b, mysqlLog(50_000), slowlog.Options{}) })
	b.Run("mysql/frames", func(b *testing.B) { benchmarkReader(b, mysqlLog(50_000), slowlog.Options{Frames: true}) })
	for _, name := range []string{"mysql84_extra.log", "mariadb1011_full.log", "percona80_extended.log"} {
		b.Run(name, func(b *testing.B) { benchmarkReader(b, bytes.Repeat(sample(b, name), 5_000), slowlog.Options{}) })
	}
	b.Run("own", func(b *testing.B) {
		var log []byte
		var w slowlog.Writer
		e := slowlog.Entry{User: []byte("app"), Schema: []byte("shop"), Text: bytes.Repeat([]byte("SELECT 1 "), 10)}
		for range 50_000 {
			log = w.Append(log, &e)
		}
		benchmarkReader(b, log, slowlog.Options{})
	})
}

func BenchmarkAppendEntry(b *testing.B) {
	e := slowlog.Entry{User: []byte("app"), Host: []byte("web1"), IP: []byte("10.2.0.3"), Schema: []byte("shop"), Text: bytes.Repeat([]byte("SELECT 1 "), 20),
		Metrics: []slowlog.Metric{{Key: "Pages_read", Value: 3}, {Key: "Bytes_sent", Value: 200}}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = slowlog.AppendEntry(dst[:0], &e, false)
		b.SetBytes(int64(len(dst)))
	}
}
