package sqltorture

import (
	"errors"
	"fmt"
	"time"
)

// Config says what is tortured, and how.
type Config struct {
	Binary     string // the program whose verbs "serve" and "check" are used
	Dir        string // a folder is made in it; empty: among the temporary files
	Memory     string // the same for the memory that outlives the server; empty: /dev/shm
	Kills      int
	Pool       int64 // bytes; 0: some lives with little, some with much
	Clients    int
	Durable    bool // commits wait for the disk
	Seed       uint64
	Corrupt    bool          // damage or replace the memory between some lives
	CheckEvery int           // one of so many lives is followed by an offline check
	LoadTime   time.Duration // the longest load before a kill
	Canary     Canary

	// Progress tells people how it goes.
	Progress func(format string, args ...any)
}

// Defaults, and what they must exceed.
const (
	DefaultKills      = 200
	DefaultClients    = 10
	DefaultCheckEvery = 5
	DefaultLoadTime   = 1500 * time.Millisecond

	// maxClients keeps the numbers of clients and builders apart, and the rows few enough to be read in each life.
	maxClients = 100
	builders   = 2
	watchers   = 2
)

const (
	// smallPool is not much more than the rows; largePool holds all of them and their history.
	smallPool = 8 << 20
	largePool = 64 << 20
	// logSize is the smallest a server takes with segments of the default size.
	logSize = 256 << 20
	// lockWait of a session, in seconds: long enough for the others to end, short enough that it is seen to end by itself.
	lockWait = 1
)

func (cfg *Config) validate() error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(cfg.Binary == "", "binary: none")
	bad(cfg.Kills < 1, "kills: %d, want at least 1", cfg.Kills)
	bad(cfg.Clients < 1 || cfg.Clients > maxClients, "clients: %d, want 1 to %d", cfg.Clients, maxClients)
	bad(cfg.Pool != 0 && cfg.Pool < smallPool, "pool: %d bytes, want at least %d", cfg.Pool, int64(smallPool))
	bad(cfg.CheckEvery < 1, "check after every %d lives, want at least 1", cfg.CheckEvery)
	bad(cfg.LoadTime <= 0, "load time: %v, want more", cfg.LoadTime)
	return errors.Join(errs...)
}

// Verdict is what a run proved.
type Verdict struct {
	Kills    int
	Acked    int      // works and steps of builders that were acknowledged
	Maybe    int      // those whose answer was lost
	Counts            // what was broken
	Checks   int      // offline
	Problems []string // that offline checks found

	Forgiven int // acknowledged works lost with memory that was taken away, as rule 6 allows
	Starts   map[string]int
	Events   map[string]int
	Kept     []string // folders left for whoever looks into a failure
}

// Counts of what must not be.
type Counts struct {
	Lost       int // acknowledged works that are not there
	Torn       int // rows, definitions and answers that are neither before nor after
	Duplicates int // values and ids that are there, or were given, twice
	Orphans    int // children whose parent is another than their foreign key says, or none
}

func (c *Counts) add(d Counts) {
	c.Lost += d.Lost
	c.Torn += d.Torn
	c.Duplicates += d.Duplicates
	c.Orphans += d.Orphans
}

// OK: what was promised holds.
func (v *Verdict) OK() bool { return v.Counts == Counts{} && len(v.Problems) == 0 }

// String is the last line of the output.
func (v *Verdict) String() string {
	check := "clean"
	if len(v.Problems) > 0 {
		check = fmt.Sprintf("%d-problems", len(v.Problems))
	}
	return fmt.Sprintf("kills=%d acked=%d maybe=%d lost=%d torn=%d duplicates=%d orphans=%d check=%s",
		v.Kills, v.Acked, v.Maybe, v.Lost, v.Torn, v.Duplicates, v.Orphans, check)
}
