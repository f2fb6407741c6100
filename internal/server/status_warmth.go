package server

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/hearthdb/hearth"
)

// mysqlTime is how MySQL writes times into its status values.
const mysqlTime = "060102 15:04:05"

// warmthStatus is about the heat dump and its load: InnoDB's two texts, and exact numbers.
var warmthStatus = []statusValue{
	{"Innodb_buffer_pool_dump_status", func(l *look) any { return dumpText(l) }},
	{"Innodb_buffer_pool_load_status", func(l *look) any { return loadText(l) }},
	{"Hearth_prewarm_state", func(l *look) any { return string(l.warmth.State) }},
	{"Hearth_prewarm_pages_total", func(l *look) any { return l.warmth.Total }},
	{"Hearth_prewarm_pages_loaded", func(l *look) any { return l.warmth.Loaded }},
	{"Hearth_prewarm_pages_present", func(l *look) any { return l.warmth.Present }},
	{"Hearth_prewarm_pages_gone", func(l *look) any { return l.warmth.Gone }},
	{"Hearth_prewarm_pages_no_room", func(l *look) any { return l.warmth.NoRoom }},
	{"Hearth_prewarm_pages_failed", func(l *look) any { return l.warmth.Failed }},
	{"Hearth_prewarm_pages_left", func(l *look) any { return l.warmth.Left }},
	{"Hearth_prewarm_pages_around", func(l *look) any { return l.warmth.Around }},
	{"Hearth_prewarm_bytes_read", func(l *look) any { return l.warmth.BytesRead }},
	{"Hearth_prewarm_reads", func(l *look) any { return l.warmth.Reads }},
	{"Hearth_prewarm_bytes_per_second", func(l *look) any { return l.warmth.BytesPerSecond }},
	{"Hearth_prewarm_seconds_left", func(l *look) any { return l.warmth.SecondsLeft }},
	{"Hearth_prewarmed_pages", func(l *look) any { return l.warmth.Accounting.Pages }},
	{"Hearth_prewarmed_pages_used", func(l *look) any { return l.warmth.Accounting.Used }},
	{"Hearth_prewarmed_pages_unused", func(l *look) any { return l.warmth.Accounting.Unused }},
	{"Hearth_prewarmed_pages_evicted_unused", func(l *look) any { return l.warmth.Accounting.EvictedUnused }},
	{"Hearth_prewarmed_hits", func(l *look) any { return l.warmth.Accounting.Hits }},
	{"Hearth_heat_dump_longest_stall_seconds", func(l *look) any { return l.warmth.LongestStall.Seconds() }},
	{"Hearth_heat_dump_withheld", func(l *look) any { return l.warmth.DumpWithheld }},
}

func dumpText(l *look) string {
	switch d := l.warmth.LastDump; {
	case l.warmth.DumpError != "":
		return "Buffer pool(s) dump failed: " + l.warmth.DumpError
	case d != nil:
		return "Buffer pool(s) dump completed at " + d.At.Local().Format(mysqlTime)
	}
	return "Dumping of buffer pool not started"
}

func loadText(l *look) string {
	w := l.warmth
	switch {
	case w.State == hearth.WarmthWaiting:
		return "Loading of buffer pool waits until the log has been read"
	case w.State == hearth.WarmthLoading:
		return fmt.Sprintf("Loaded %d/%d pages", w.Total-w.Left, w.Total)
	case w.State == hearth.WarmthPaused:
		return fmt.Sprintf("Loaded %d/%d pages, paused", w.Total-w.Left, w.Total)
	case w.State == hearth.WarmthDone:
		return "Buffer pool(s) load completed at " + w.Started.Add(w.Took).Local().Format(mysqlTime)
	case w.State == hearth.WarmthCancelled:
		return "Buffer pool(s) load aborted at " + w.Started.Add(w.Took).Local().Format(mysqlTime)
	case w.State == hearth.WarmthFailed:
		return "Buffer pool(s) load failed: " + w.Error
	}
	return "Loading of buffer pool not started"
}

// tlsOf the connection whose own goroutine asks: version and cipher, empty without TLS.
func (s *Server) tlsOf(id uint32) (version, cipher string) {
	cl := s.clients.get(id)
	if cl == nil || cl.wire.tls == nil {
		return "", ""
	}
	state := cl.wire.tls.ConnectionState()
	return tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
}

// seconds since a time, 0 if it is none.
func since(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return time.Since(t).Seconds()
}
