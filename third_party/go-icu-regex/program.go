package regex

// program is a pattern made ready. It is never changed, so all may run it at once.
type program struct {
	code   []instruction
	groups int            // how many, without the whole match
	names  map[string]int // of groups
	slots  int            // what a match remembers: two for each group and for the whole match, then what loops and the like need

	// What every match begins with, where that is known: a search passes over the rest.
	prefix string       // bytes
	first  *[256]bool   // the first byte; nil: a match may be empty, or begin with anything
	atZero bool         // only at the start of the text
	lead   *instruction // a loop without an end, as in ".*x": what it fails from it fails from further right in the same run of characters
}

// instruction is a step of a program. Where its operands are places in the code or slots, op says so.
type instruction struct {
	op         op
	greed      greed
	x, y, z, w int32
	text       string
	fold       []rune
	set        *class
}

type op uint8

const (
	opMatch        op = iota // that is all
	opByte                   // a byte, x
	opText                   // text
	opFold                   // what folds to fold
	opClass                  // a character of set
	opAnything               // a character; CR LF is one
	opLineEnd                // a line end
	opGrapheme               // what a reader takes for one character
	opAssert                 // anchor x holds
	opJump                   // go on at x
	opBranch                 // go on at x, and if that fails at y
	opMark                   // slot x takes the place
	opIfStuck                // go on at y if the place is the one in slot x
	opClassLoop              // x to y characters of set: one saved state for all
	opAnyLoop                // the same for opAnything
	opGroupEnd               // group x is what lies between the place in slot y and here
	opCount                  // slot x becomes 0
	opLoop                   // a loop of y to z times, counted in slot x; goes on at w when it is through
	opLoopEnd                // counts in slot x, goes on at y; at z if the place is the one in slot x+1
	opAtomic                 // slot x takes the height of the stack
	opAtomicEnd              // forgets the states saved above that height
	opAhead                  // slots x and x+1 take place and height; y: where to go on if what follows fails, 0 if that is failure
	opAheadEnd               // back to the place, states above the height forgotten
	opBehind                 // the same, and tries what follows from z to w characters further left
	opBehindEnd              // only if the place has come back to the one in slot x
	opBehindFailed           // the same, for a negative one: goes back to the height, and fails
	opAheadFailed            // goes back to the height, and fails
	opBackRef                // what group x matched
	opBackRefFold            // the same without regard to case
)

// class is asked often, so it answers for ASCII with a bit.
type class struct {
	ascii [2]uint64
	set   runeSet
}

func newClass(set runeSet) *class {
	c := &class{set: set}
	for r := rune(0); r < 128; r++ {
		if set.contains(r) {
			c.ascii[r/64] |= 1 << (r % 64)
		}
	}
	return c
}

func (c *class) contains(r rune) bool {
	if r < 128 {
		return c.ascii[r/64]&(1<<(r%64)) != 0
	}
	return c.set.contains(r)
}
