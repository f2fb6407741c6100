package regex

import (
	"context"
	"math"
	"unicode/utf8"
)

// Regex matches texts against a pattern. It is for one goroutine at a time. Positions count characters from 1, as in SQL, and lie in
// the text as a whole: what comes before a position is seen by look-behinds and anchors.
type Regex interface {
	// SetRegexString sets the pattern. Errors: ErrInvalidRegex.
	SetRegexString(ctx context.Context, pattern string, flags RegexFlags) error
	// SetMatchString sets the text.
	SetMatchString(ctx context.Context, text string) error
	// IndexOf is where the nth match from start on begins, or the position behind it; 0 if there is none. An occurrence below 1 is 1.
	IndexOf(ctx context.Context, start int, occurrence int, endIndex bool) (int, error)
	// Matches says whether there is an nth match. Only here start counts from 0.
	Matches(ctx context.Context, start int, occurrence int) (bool, error)
	// Replace puts a replacement in the place of the nth match from start on, of all matches if occurrence is 0. In a replacement, $1
	// and ${name} stand for groups, and a backslash takes its meaning from the next character.
	Replace(ctx context.Context, replacement string, start int, occurrence int) (string, error)
	// Substring is the text of the nth match from start on; false if there is none.
	Substring(ctx context.Context, start int, occurrence int) (string, bool, error)
	// Close is where another implementation would free memory. Here the garbage collector does, and a Regex may be used after it.
	Close() error
}

// RegexFlags are the modes in which a pattern is read, joined by |. The values are ICU's.
type RegexFlags uint32

const (
	RegexFlags_None             RegexFlags = 0
	RegexFlags_Unix_Lines       RegexFlags = 1  // only \n ends lines
	RegexFlags_Case_Insensitive RegexFlags = 2  // letters match without regard to case
	RegexFlags_Multiline        RegexFlags = 8  // ^ and $ match at every line
	RegexFlags_Dot_All          RegexFlags = 32 // . matches line ends too
)

// CreateRegex makes a Regex. It needs no buffers, so the size that is asked for means nothing.
func CreateRegex(_ uint32) Regex { return &matching{} }

// SetRegexLeakHandler takes a function for the day a Regex is found that was not closed. Nothing leaks here, so it is never called.
func SetRegexLeakHandler(func()) {}

// matching implements Regex.
type matching struct {
	program *program
	text    string
	hasText bool
}

func (x *matching) SetRegexString(_ context.Context, pattern string, flags RegexFlags) (err error) {
	x.hasText = false
	x.program, err = compiled(pattern, flags)
	return err
}

func (x *matching) SetMatchString(_ context.Context, text string) error {
	if x.program == nil {
		return ErrRegexNotYetSet.New()
	}
	if len(text) >= math.MaxInt32 {
		return ErrOutOfBounds.New()
	}
	x.text, x.hasText = text, true
	return nil
}

func (x *matching) IndexOf(ctx context.Context, start int, occurrence int, endIndex bool) (int, error) {
	m, ok, err := x.find(ctx, start-1, occurrence)
	if !ok {
		return 0, err
	}
	from, to := m.found()
	if endIndex {
		from = to
	}
	return utf8.RuneCountInString(x.text[:from]) + 1, nil
}

func (x *matching) Matches(ctx context.Context, start int, occurrence int) (bool, error) {
	_, ok, err := x.find(ctx, start, occurrence)
	return ok, err
}

func (x *matching) Substring(ctx context.Context, start int, occurrence int) (string, bool, error) {
	m, ok, err := x.find(ctx, start-1, occurrence)
	if !ok {
		return "", false, err
	}
	return m.group(0), true, nil
}

func (x *matching) Close() error { return nil }

// find searches the nth match from start characters into the text on.
func (x *matching) find(ctx context.Context, start, occurrence int) (m *matcher, ok bool, err error) {
	from, err := x.offset(start)
	if err != nil {
		return nil, false, err
	}
	m = newMatcher(ctx, x.program, x.text)
	ok, err = m.search(from)
	for n := 1; n < occurrence && ok; n++ {
		ok, err = m.next()
	}
	return m, ok, err
}

// offset is the byte at which a character begins; start counts from 0, and -1 means 0, as in ICU.
func (x *matching) offset(start int) (int, error) {
	switch {
	case x.program == nil:
		return 0, ErrRegexNotYetSet.New()
	case !x.hasText:
		return 0, ErrMatchNotYetSet.New()
	case start < -1:
		return 0, ErrOutOfBounds.New()
	case start <= 0:
		return 0, nil
	}
	for i := range x.text {
		if start == 0 {
			return i, nil
		}
		start--
	}
	if start > 0 {
		return 0, ErrOutOfBounds.New()
	}
	return len(x.text), nil
}
