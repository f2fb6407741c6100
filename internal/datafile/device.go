package datafile

import "time"

// Device is what the governor of loads found out about the disk, and makes of it. Zero: not known yet.
type Device struct {
	Situation      string        // idle, light or contended
	Bound          Bound         // of contending misses
	IOPS           float64       // reads a second, the most seen beside contending misses
	BytesPerSecond float64       // the most seen
	OpBytes        float64       // bytes that take as long as an operation
	Budget         float64       // bytes a second that misses and load may read together
	Around         float64       // pages a miss reads
	ReadBytes      int           // of a read of the load
	InFlight       int           // reads of the load
	Share          float64       // of the bytes, that went to the load, in the last ticks
	MissLatency    time.Duration // mean, in the last ticks
	MissAlone      time.Duration // mean, in the last probe
}

var situationNames = [...]string{idle: "idle", light: "light", contended: "contended"}

func (b Bound) String() string {
	return [...]string{BoundUnknown: "", BoundOps: "operations", BoundBytes: "bytes", BoundProcessors: "processors"}[b]
}

// Device tells what is known of the disk.
func (s *Set) Device() Device {
	g := s.gov
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.history.mean(judgeTicks)
	size, _ := g.shape()
	d := Device{
		Situation: situationNames[g.situation], Bound: g.judge.bound, IOPS: g.judge.mostOps, BytesPerSecond: g.judge.mostBytes,
		OpBytes: g.judge.opBytes, Budget: g.judge.budget, Around: g.judge.around, ReadBytes: size, InFlight: g.inFlight,
		MissLatency: time.Duration(m.latency() * float64(time.Second)), MissAlone: time.Duration(g.judge.alone.latency() * float64(time.Second)),
	}
	if g.growing() {
		d.Budget = g.grower.budget
	}
	if g.judge.crowded {
		d.Bound = BoundProcessors
	}
	if all := m.missBytes + m.loadBytes; all > 0 {
		d.Share = float64(m.loadBytes) / float64(all)
	}
	return d
}
