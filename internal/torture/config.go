package torture

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/hearthdb/hearth"
)

// Config says what is tortured, and how.
type Config struct {
	Dir        string // a folder is made in it; empty: among the temporary files
	Memory     string // the same for the region; empty: /dev/shm
	Kills      int
	Pool       int64 // bytes; 0: some lives with 4 MiB, some with 64
	Rows       int   // at most, in all trees with stamps but those of large values
	LargeValue int   // bytes of the largest value
	Writers    int
	Durability hearth.Durability
	Seed       uint64
	Corrupt    bool          // damage or replace the region between some lives
	CheckEvery int           // one of so many lives is checked, if it gets so far
	LoadTime   time.Duration // the longest load before a kill
	Canary     Canary

	// Child starts this program again so that it calls Child and nothing else.
	Child func(context.Context) *exec.Cmd
	// Progress tells people how it goes.
	Progress func(format string, args ...any)
}

// Canary is a lie that the torture tells itself, and must find out.
type Canary string

const (
	CanaryNone Canary = ""
	CanaryLost Canary = "lost" // an acknowledgement that nobody gave
	CanaryTorn Canary = "torn" // a change that nobody made, in a transaction that was committed
	CanaryKept Canary = "kept" // a change forgotten: what is there is more than was committed
)

// Defaults, and what they must exceed.
const (
	DefaultKills      = 1000
	DefaultRows       = 20_000
	DefaultWriters    = 8
	DefaultLargeValue = 2 << 20
	DefaultCheckEvery = 2 // a check also waits until losers are rolled back, which is not to be in every life
	DefaultLoadTime   = 500 * time.Millisecond

	accounts  = 100
	largeKeys = 3 // of each writer
	// leastLarge is the smallest value, in bytes, that is called large: more than a leaf takes.
	leastLarge = 5000
	// treesWithRows is how many trees share Config.Rows.
	treesWithRows = 4
	maxWriters    = 1000 // an account of theirs in the bank or a journal each are cheap, but a process has 1024 files
)

const (
	// smallPool is the smallest that Open takes, and much smaller than the data; largePool is much larger.
	smallPool = hearth.MinPoolSize
	largePool = 64 << 20
	// segment and logSegments are small, so that a run of a minute recycles segments and takes many checkpoints.
	segment     = 2 << 20
	logSegments = 6
	ringUnit    = 1 << 20
)

func (cfg *Config) validate() error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(cfg.Kills < 1, "kills: %d, want at least 1", cfg.Kills)
	bad(cfg.Writers < 1 || cfg.Writers > maxWriters, "workers: %d, want 1 to %d", cfg.Writers, maxWriters)
	bad(cfg.keys() < 1, "rows: %d, want at least %d for %d workers", cfg.Rows, treesWithRows*cfg.Writers, cfg.Writers)
	bad(cfg.Pool != 0 && cfg.Pool < smallPool, "pool: %d bytes, want at least %d", cfg.Pool, int64(smallPool))
	bad(cfg.LargeValue < leastLarge, "large value: %d bytes, want at least %d", cfg.LargeValue, leastLarge)
	bad(cfg.CheckEvery < 1, "check every %d lives, want at least 1", cfg.CheckEvery)
	bad(cfg.Durability != hearth.DurabilityCommit && cfg.Durability != hearth.DurabilityProcess,
		"durability: %q, want %q or %q", cfg.Durability, hearth.DurabilityCommit, hearth.DurabilityProcess)
	return errors.Join(errs...)
}

func (cfg *Config) keys() int { return cfg.Rows / treesWithRows / max(cfg.Writers, 1) }

// Verdict is what a run proved.
type Verdict struct {
	Kills, Lost, Torn int
	Problems          []string // that checks found
	Checks            int

	Acknowledged int // transactions
	Forgiven     int // of them, lost with memory that the torture took away, as rule 5 allows
	Starts       map[string]int
	Events       map[string]int
	Opened       []time.Duration // how long starts took to their first answer
	Kept         []string        // folders left for whoever looks into a failure
}

// OK: what was promised holds.
func (v *Verdict) OK() bool { return v.Lost == 0 && v.Torn == 0 && len(v.Problems) == 0 }

// String is the last line of the output.
func (v *Verdict) String() string {
	check := "clean"
	if len(v.Problems) > 0 {
		check = fmt.Sprintf("%d-problems", len(v.Problems))
	}
	return fmt.Sprintf("kills=%d lost=%d torn=%d check=%s", v.Kills, v.Lost, v.Torn, check)
}
