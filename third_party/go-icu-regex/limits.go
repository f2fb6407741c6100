package regex

import "sync/atomic"

// What a pattern may be, and what a match may cost.
const (
	// DefaultTimeLimit bounds a search, in steps of 10,000 saved states each, as MySQL's regexp_time_limit does. A saved state is
	// a place to which a match would go back. Other work
	// weighs less, see meter.
	DefaultTimeLimit = 32
	// DefaultStackLimit bounds the saved states that a match keeps at once, in bytes, as MySQL's regexp_stack_limit does.
	DefaultStackLimit = 8_000_000
	// PatternLimit is the longest pattern, in characters.
	PatternLimit = 256 << 10
	// NestingLimit is how deep parentheses and brackets go.
	NestingLimit = 1000
	// ResultLimit is the longest text that a replacement makes, in bytes.
	ResultLimit = 64 << 20

	intervalLimit = 0x1000000 // largest number in {min,max}
	rangesLimit   = 1 << 20   // ranges of characters in all brackets of a pattern, 8 bytes each
	lookBackLimit = 0x1000000 // characters that a look-behind goes back
)

var timeLimit, stackLimit atomic.Int64

func init() {
	timeLimit.Store(DefaultTimeLimit)
	stackLimit.Store(DefaultStackLimit)
}

// SetTimeLimit sets the steps that a search may take, for the whole process, from the next search on. 0 is no limit.
func SetTimeLimit(steps int64) { timeLimit.Store(steps) }

// SetStackLimit sets the bytes of saved states that a match may keep, for the whole process, from the next search on. 0 is no limit.
func SetStackLimit(bytes int64) { stackLimit.Store(bytes) }
