package datafile

import (
	"sync/atomic"
	"time"
)

// Stats is what was done since Open, by class.
type Stats [classes]ClassStats

// ClassStats counts the operations of one class.
type ClassStats struct {
	Reads, Writes           uint64
	BytesRead, BytesWritten uint64        // of writes also those into the doublewrite file
	Busy                    time.Duration // time on the disk, summed over operations
	Waited                  time.Duration // time held back by the scheduler
	InFlight                int           // now
}

type counters struct {
	reads, writes           atomic.Uint64
	bytesRead, bytesWritten atomic.Uint64
	busy, waited            atomic.Int64 // nanoseconds
	_                       [16]byte     // classes do not share cache lines
}

// Stats since Open.
func (s *Set) Stats() Stats {
	var st Stats
	for i := range st {
		c := &s.counters[i]
		st[i] = ClassStats{
			Reads: c.reads.Load(), Writes: c.writes.Load(),
			BytesRead: c.bytesRead.Load(), BytesWritten: c.bytesWritten.Load(),
			Busy: time.Duration(c.busy.Load()), Waited: time.Duration(c.waited.Load()),
			InFlight: int(s.sched.lanes[i].inFlight.Load()),
		}
	}
	return st
}

// Syncs counts what made writes durable since Open.
type Syncs struct {
	Files       uint64        // calls for files of spaces
	Doublewrite uint64        // calls for the doublewrite file
	Time        time.Duration // spent in both, summed over calls
}

type syncCounter struct {
	calls atomic.Uint64
	nanos atomic.Int64
}

// Syncs since Open.
func (s *Set) Syncs() Syncs {
	f, d := &s.syncs.files, &s.syncs.doublewrite
	return Syncs{Files: f.calls.Load(), Doublewrite: d.calls.Load(), Time: time.Duration(f.nanos.Load() + d.nanos.Load())}
}
