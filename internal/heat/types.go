package heat

import (
	"errors"
	"fmt"
	"time"
)

// DumpOptions of one dump.
type DumpOptions struct {
	Percent int    `json:"percent,omitempty"` // of the pool's frames, the hottest pages; 0: as configured
	Path    string `json:"path,omitempty"`    // the file to write; "": a new one among those kept in the data directory
}

// DumpInfo tells of a dump that was written.
type DumpInfo struct {
	File         string        `json:"file"`
	At           time.Time     `json:"at"`
	Pages        int64         `json:"pages"`
	Bytes        int64         `json:"bytes"`
	Took         time.Duration `json:"took_ns"`
	LongestStall time.Duration `json:"longest_stall_ns"` // the longest it kept a core without letting others run
	Automatic    bool          `json:"automatic"`        // by the interval or at shutdown
	// Partial says why an automatic dump would have been withheld: it lists a pool that is not warm yet. "": it is not partial.
	Partial     string `json:"partial,omitempty"`
	EarlierKept bool   `json:"earlier_kept,omitempty"` // it is partial, so none of the dumps before it was removed for it
}

// Order says in which order a load reads the pages of a dump.
type Order string

const (
	OrderHeat     Order = "heat"     // bands from hot to cold, by place on the disk inside a band
	OrderPhysical Order = "physical" // by place on the disk alone, for comparison
)

// LoadOptions of one load.
type LoadOptions struct {
	Path     string        `json:"path,omitempty"`     // a dump file; "": the newest whole one in the data directory
	Order    Order         `json:"order,omitempty"`    // "": as configured
	Blocking bool          `json:"blocking,omitempty"` // return at the end of the load, not at its beginning
	Limit    time.Duration `json:"limit_ns,omitempty"` // with Blocking: return after so long at the latest, while the load goes on; 0: no limit
}

// State of the load.
type State string

const (
	StateIdle      State = "idle"      // none since the start
	StateWaiting   State = "waiting"   // the load of a start waits until the log has been read
	StateLoading   State = "loading"   //
	StatePaused    State = "paused"    //
	StateDone      State = "done"      // every page of the dump was seen to
	StateCancelled State = "cancelled" // by Cancel, another load or the end of the process
	StateFailed    State = "failed"    // Status.Error says why
)

// Status is what can be said of the heat dump and of the load. The counts of pages are exact: Total is the sum of Loaded,
// Present, Gone, NoRoom, Failed and Left.
type Status struct {
	State   State         `json:"state"`
	File    string        `json:"file,omitempty"`  // that is or was loaded
	Order   Order         `json:"order,omitempty"` //
	Error   string        `json:"error,omitempty"` // why nothing is loaded: the dump is damaged, foreign, missing
	Started time.Time     `json:"started,omitzero"`
	Took    time.Duration `json:"took_ns"` // so far, or until the end; pauses count

	Total   int64 `json:"total"`   // pages in the dump
	Loaded  int64 `json:"loaded"`  // brought in by the load, fault-around included
	Present int64 `json:"present"` // in the pool already, or brought in by others
	Gone    int64 `json:"gone"`    // skipped: dropped, freed or never written
	NoRoom  int64 `json:"no_room"` // skipped: no free frame, the pool is smaller than the dump or others filled it
	Failed  int64 `json:"failed"`  // could not be read
	Left    int64 `json:"left"`    // not seen to yet
	Around  int64 `json:"around"`  // of Loaded: came along with a page that somebody waited for

	Bands int `json:"bands"` // in the dump
	Band  int `json:"band"`  // being loaded, from 0, the hottest

	BytesRead      int64   `json:"bytes_read"`       // from the files, for the load
	Reads          int64   `json:"reads"`            // operations
	BytesPerSecond float64 `json:"bytes_per_second"` // over the last seconds, or in all when it is over
	SecondsLeft    float64 `json:"seconds_left"`     // at that rate; 0 when nothing is loading

	Device     Device     `json:"device"`
	Accounting Accounting `json:"accounting"`

	LastDump *DumpInfo `json:"last_dump,omitempty"`
	// DumpWithheld says why automatic dumps are not written at the moment; "" when they are.
	DumpWithheld string `json:"dump_withheld,omitempty"`
	DumpError    string `json:"dump_error,omitempty"` // of the last dump, when it failed
	// LongestStall is the longest of all dumps since the start.
	LongestStall time.Duration `json:"longest_stall_ns"`
}

// Device is what the loads found out about the disk by watching it, and what they make of it. Zero means not known.
type Device struct {
	Situation      string  `json:"situation"`               // idle: nobody waits for pages; light: now and then; contended: always
	Bound          string  `json:"bound,omitempty"`         // of those who wait, when contended: operations, bytes, processors
	IOPS           float64 `json:"iops"`                    // reads a second, the most seen when contended
	BytesPerSecond float64 `json:"bytes_per_second"`        // the most seen
	Budget         float64 `json:"budget_bytes_per_second"` // bytes a second that misses and load may read together
	OpBytes        float64 `json:"op_bytes"`                // bytes that take the disk as long as an operation
	Around         float64 `json:"around_pages"`            // pages that a miss reads
	ReadBytes      int64   `json:"read_bytes"`              // of one read of the load
	InFlight       int     `json:"in_flight"`               // reads of the load
	Share          float64 `json:"share"`                   // of the disk's bytes that go to the load, 0 to 1
	MissLatency    float64 `json:"miss_latency_seconds"`    // seconds a miss takes
	MissAlone      float64 `json:"miss_alone_seconds"`      // seconds it takes without the load, when contended
}

// Accounting says what the pages were worth that loads brought in. Pages = Used + Unused + EvictedUnused.
type Accounting struct {
	Pages         int64 `json:"pages"`          // brought in
	Used          int64 `json:"used"`           // and read since by somebody
	Unused        int64 `json:"unused"`         // in the pool and not read yet
	EvictedUnused int64 `json:"evicted_unused"` // left the pool before anybody read them
	Hits          int64 `json:"hits"`           // reads they served; estimated from a sample
}

// Settings may be changed while the database runs.
type Settings struct {
	DumpInterval   time.Duration // between automatic dumps; below 0: none
	DumpPercent    int           // of the pool's frames in a dump, 1 to 100
	DumpAtShutdown bool
	Order          Order // of loads that do not say
	Floor          int   // percent of the disk's bytes that a load gets beside busy readers, 1 to MaxFloor
	NoHeat         bool  // do not count uses: for measuring what that costs
}

// MaxFloor leaves the readers their part.
const MaxFloor = 90

// Validate says what is wrong with s.
func (s Settings) Validate() error {
	switch {
	case s.DumpInterval == 0:
		return errors.New("heat dump interval is 0, want more, or below 0 for none")
	case s.DumpPercent < 1 || s.DumpPercent > 100:
		return fmt.Errorf("heat dump percent is %d, want 1 to 100", s.DumpPercent)
	case s.Order != OrderHeat && s.Order != OrderPhysical:
		return fmt.Errorf("prewarm order is %q, want %s or %s", s.Order, OrderHeat, OrderPhysical)
	case s.Floor < 1 || s.Floor > MaxFloor:
		return fmt.Errorf("prewarm floor is %d, want 1 to %d", s.Floor, MaxFloor)
	}
	return nil
}
