package hearth

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/wal"
)

// MemoryMode says what to do when there is no memory that survives.
type MemoryMode string

const (
	MemoryAuto    MemoryMode = "auto"    // use memory that survives; warn and go on with ordinary memory when there is none
	MemoryRequire MemoryMode = "require" // fail when there is none
	MemoryOff     MemoryMode = "off"     // use ordinary memory
)

// Durability says when a commit is acknowledged.
type Durability string

const (
	// DurabilityDefault is that of the database (Options.Durability).
	DurabilityDefault Durability = ""
	// DurabilityCommit acknowledges when the log is on the disk: a commit survives a power cut.
	DurabilityCommit Durability = "commit"
	// DurabilityProcess acknowledges when the log is in memory that survives the process (or, without such memory,
	// with the kernel): a commit survives kill -9, and a power cut from LogFlushInterval later on.
	DurabilityProcess Durability = "process"
)

// Options of a database. The zero value of a field is its default.
type Options struct {
	PoolSize    int64         // bytes of pages in memory; default 256 MiB, least 4 MiB
	LogSize     int64         // bytes of log behind which changed pages are written; default 1 GiB, least 4 segments
	RingSize    int64         // bytes of log in memory; default 64 MiB or a quarter of the pool, a multiple of 1 MiB
	SegmentSize int64         // bytes of a log file, fixed when the database is made; default 64 MiB
	MemoryDir   string        // a tmpfs for the memory that survives; default /dev/shm
	Memory      MemoryMode    // default MemoryAuto
	Durability  Durability    // default DurabilityCommit
	Logger      *slog.Logger  // default: slog.Default()
	OnFatal     func(error)   // the log cannot be written: called once; default: log it and exit with status 2
	MaxWriters  int           // transactions that write at a time; default 1000, at most 1000
	LockWait    time.Duration // how long a row lock is waited for; default 50 s

	// OnPhase is told what Open is doing: the phases of StartReport by name, each as it begins, and how far it is, in percent, as
	// often as that changes; below 0 where that is not known, which is everywhere but in the reading of the log by a start without
	// memory. Open waits for it.
	OnPhase func(phase string, percent int)

	// KeepPool leaves a pool that survived the size it has, whatever PoolSize says: for tools that look at a database and
	// must not cost it its memory.
	KeepPool bool
	// SmallPages leaves the pool's memory in small pages. Otherwise it is reserved in huge pages where the kernel can, and what
	// survived in small ones is made huge behind the start, with a quarter of a core at most.
	SmallPages bool

	// HeatDumpInterval is how often the list of pages in memory is written, for a start that finds no memory; default 60 s,
	// below 0: never by itself.
	HeatDumpInterval   time.Duration
	HeatDumpPercent    int    // of the pool, the hottest, in a dump; default 100
	HeatDumpAtShutdown Switch // default On
	HeatDumpsKept      int    // dumps kept in the data directory; default 3

	// Prewarm says what a start that finds no memory does with the newest dump; default PrewarmBackground.
	Prewarm      PrewarmMode
	PrewarmLimit time.Duration // of PrewarmBlocking; default 60 s
	PrewarmFloor int           // percent of the disk's throughput that a load gets beside busy readers; default 10, 1 to 90
	PrewarmFile  string        // the dump to load at start; default: the newest of the data directory
	PrewarmOrder LoadOrder     // default OrderHeat

	// LogFlushInterval is how long a commit with DurabilityProcess may wait for the disk; default 1 s.
	LogFlushInterval time.Duration

	fs file.FS // tests put the database on an in-memory disk
}

// Defaults and bounds of the options, in the unit of the option.
const (
	DefaultPoolSize    = 256 << 20
	DefaultLogSize     = 1 << 30
	DefaultRingSize    = 64 << 20
	DefaultSegmentSize = wal.DefaultSegmentBytes
	DefaultMemoryDir   = "/dev/shm"
	DefaultLockWait    = 50 * time.Second
	DefaultMaxWriters  = 1000

	DefaultHeatDumpInterval = time.Minute
	DefaultHeatDumpPercent  = 100
	DefaultHeatDumpsKept    = 3
	DefaultPrewarmLimit     = time.Minute
	DefaultPrewarmFloor     = 10
	MaxPrewarmFloor         = heat.MaxFloor

	// MinLogSegments is how many segments a log is at least long.
	MinLogSegments = 4
	// MinPoolSize is the smallest pool: a few transactions at a time, each at its largest.
	MinPoolSize = pool.MinFrames * page.Size
)

// withDefaults returns the options with nothing left open, or what is wrong with them.
func (o *Options) withDefaults() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	def := func(p *int64, d int64) {
		if *p == 0 {
			*p = d
		}
	}
	def(&v.PoolSize, DefaultPoolSize)
	def(&v.LogSize, DefaultLogSize)
	def(&v.SegmentSize, DefaultSegmentSize)
	def(&v.RingSize, max(region.RingUnit, min(DefaultRingSize, v.PoolSize/4/region.RingUnit*region.RingUnit)))
	if v.MemoryDir == "" {
		v.MemoryDir = DefaultMemoryDir
	}
	if v.Memory == "" {
		v.Memory = MemoryAuto
	}
	if v.Durability == "" {
		v.Durability = DurabilityCommit
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	if v.LogFlushInterval == 0 {
		v.LogFlushInterval = time.Second
	}
	if v.LockWait == 0 {
		v.LockWait = DefaultLockWait
	}
	if v.MaxWriters == 0 {
		v.MaxWriters = DefaultMaxWriters
	}
	if v.fs == nil {
		v.fs = file.OS
	}
	v.warmthDefaults()
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(v.PoolSize < MinPoolSize, "pool size is %d bytes, want at least %d", v.PoolSize, int64(MinPoolSize))
	bad(v.RingSize < region.RingUnit || v.RingSize%region.RingUnit != 0, "ring size is %d bytes, want a multiple of %d", v.RingSize, int64(region.RingUnit))
	bad(v.SegmentSize < 1<<20 || v.SegmentSize%(1<<20) != 0, "segment size is %d bytes, want a multiple of 1 MiB", v.SegmentSize)
	bad(v.LogSize < MinLogSegments*v.SegmentSize, "log size is %d bytes, want at least %d segments of %d", v.LogSize, MinLogSegments, v.SegmentSize)
	bad(v.Memory != MemoryAuto && v.Memory != MemoryRequire && v.Memory != MemoryOff, "memory is %q, want auto, require or off", v.Memory)
	bad(v.Durability != DurabilityCommit && v.Durability != DurabilityProcess, "durability is %q, want commit or process", v.Durability)
	bad(v.MaxWriters < 1 || v.MaxWriters > DefaultMaxWriters, "max writers is %d, want 1 to %d", v.MaxWriters, DefaultMaxWriters)
	bad(v.LockWait < 0, "lock wait is %v, want at least 0", v.LockWait)
	bad(v.LogFlushInterval < 0, "log flush interval is %v, want at least 0", v.LogFlushInterval)
	v.checkWarmth(bad)
	if len(errs) > 0 {
		return v, fmt.Errorf("options: %w", errors.Join(errs...))
	}
	return v, nil
}

func (o *Options) warmthDefaults() {
	if o.HeatDumpInterval == 0 {
		o.HeatDumpInterval = DefaultHeatDumpInterval
	}
	if o.HeatDumpPercent == 0 {
		o.HeatDumpPercent = DefaultHeatDumpPercent
	}
	if o.HeatDumpAtShutdown == "" {
		o.HeatDumpAtShutdown = On
	}
	if o.HeatDumpsKept == 0 {
		o.HeatDumpsKept = DefaultHeatDumpsKept
	}
	if o.Prewarm == "" {
		o.Prewarm = PrewarmBackground
	}
	if o.PrewarmLimit == 0 {
		o.PrewarmLimit = DefaultPrewarmLimit
	}
	if o.PrewarmFloor == 0 {
		o.PrewarmFloor = DefaultPrewarmFloor
	}
	if o.PrewarmOrder == "" {
		o.PrewarmOrder = OrderHeat
	}
}

func (o *Options) checkWarmth(bad func(cond bool, format string, args ...any)) {
	bad(o.HeatDumpAtShutdown != On && o.HeatDumpAtShutdown != Off, "heat dump at shutdown is %q, want on or off", o.HeatDumpAtShutdown)
	bad(o.HeatDumpsKept < 1, "heat dumps kept is %d, want at least 1", o.HeatDumpsKept)
	bad(o.Prewarm != PrewarmBackground && o.Prewarm != PrewarmBlocking && o.Prewarm != PrewarmOff,
		"prewarm is %q, want background, blocking or off", o.Prewarm)
	bad(o.PrewarmLimit < 0, "prewarm limit is %v, want at least 0", o.PrewarmLimit)
	if err := o.warmthSettings().Validate(); err != nil {
		bad(true, "%w", err)
	}
}

// warmthSettings are those that may change while the database runs.
func (o *Options) warmthSettings() WarmthSettings {
	return WarmthSettings{
		DumpInterval: o.HeatDumpInterval, DumpPercent: o.HeatDumpPercent, DumpAtShutdown: o.HeatDumpAtShutdown == On,
		Order: o.PrewarmOrder, Floor: o.PrewarmFloor,
	}
}

func (o *Options) frames() int { return int(o.PoolSize / page.Size) }
