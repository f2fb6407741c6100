package wal

import (
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

// counters are what the goroutines count on their way.
type counters struct {
	waits, written, writes, syncs, syncNanos atomic.Uint64
	made, recycled, segmentWaits             atomic.Uint64
}

// Stats is what a log has done since Open, and how it stands.
type Stats struct {
	Tail, Written, Durable page.LSN

	Groups       uint64        // appended
	Appended     uint64        // bytes of them
	WrittenBytes uint64        // given to files; a block may be given more than once
	Writes       uint64        // calls that did
	Syncs        uint64        // calls
	SyncTime     time.Duration // of writing and syncing together
	Waits        uint64        // calls of WaitDurable and WaitWritten that had to wait
	RingFull     uint64        // Appends that had to wait for room
	SegmentWaits uint64        // times the next segment was not ready

	SegmentsLive     int
	SegmentsMade     uint64 // of new or spare files
	SegmentsRecycled uint64
}

// Stats counts.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	groups, stalled := l.groups, l.stalled
	l.mu.Unlock()
	l.segs.mu.Lock()
	live := len(l.segs.live)
	l.segs.mu.Unlock()
	tail := l.Tail()
	return Stats{
		Tail:             tail,
		Written:          l.Written(),
		Durable:          l.Durable(),
		Groups:           groups,
		Appended:         uint64(tail - l.cfg.Start),
		WrittenBytes:     l.stats.written.Load(),
		Writes:           l.stats.writes.Load(),
		Syncs:            l.stats.syncs.Load(),
		SyncTime:         time.Duration(l.stats.syncNanos.Load()),
		Waits:            l.stats.waits.Load(),
		RingFull:         stalled,
		SegmentWaits:     l.stats.segmentWaits.Load(),
		SegmentsLive:     live,
		SegmentsMade:     l.stats.made.Load(),
		SegmentsRecycled: l.stats.recycled.Load(),
	}
}
