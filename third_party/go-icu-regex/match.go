package regex

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"
)

// matcher runs a program over a text. Rules:
//
//  1. What changes a slot pushes what was there: who goes back finds everything as it was.
//  2. When a run fails, the stack is empty again, and so the slots are as before the run.
//  3. Every instruction and every saved state is paid for, see meter.
//  4. pos never lies inside of a character, except where bytes are no UTF-8: then each is a character.
type matcher struct {
	*program
	meter
	text     string
	lastEnd  int // of the match before, 0 if there was none
	slots    []int32
	stack    []state
	stackMax int // states
}

// state is where a match would go back to, or what it would put back.
type state struct {
	kind    stateKind
	a, b, c int32
}

type stateKind int32

const (
	goOn       stateKind = iota // at instruction a, place b
	putBack                     // value b into slot a
	giveBack                    // a loop over a class: at instruction a, one character left of place b, but not left of c
	takeMore                    // a lazy loop, instruction a, at place b: up to c more characters
	tryFurther                  // a look-behind, instruction a: from one character left of place b, and up to c-1 more
)

const stateBytes = 16

// newMatcher prepares for searches in a text, whose work is bounded together.
func newMatcher(ctx context.Context, p *program, text string) *matcher {
	m := &matcher{program: p, text: text, slots: make([]int32, p.slots), stackMax: math.MaxInt}
	if limit := stackLimit.Load(); limit > 0 {
		m.stackMax = int(limit / stateBytes)
	}
	m.meter.start(ctx, len(text))
	return m
}

// search finds the first match from a place on. err: ErrTimeout, ErrStackOverflow, or the context's.
func (m *matcher) search(from int) (found bool, err error) {
	m.stack = m.stack[:0]
	for i := range m.slots {
		m.slots[i] = -1
	}
	m.pay(int64(len(m.slots)))
	for pos := from; m.err == nil; {
		switch {
		case m.atZero:
			if pos > 0 {
				return false, nil
			}
		case m.prefix != "":
			i := strings.Index(m.text[pos:], m.prefix)
			if i < 0 {
				return false, nil
			}
			pos += i
		case m.first != nil:
			for pos < len(m.text) && !m.first[m.text[pos]] {
				pos++
			}
			if pos == len(m.text) {
				return false, nil
			}
		}
		if m.run(pos) {
			return true, nil
		}
		if m.lead != nil {
			pos = m.pastRun(pos)
		}
		if pos == len(m.text) {
			break
		}
		pos += width(m.text, pos)
	}
	return false, m.err
}

// pastRun is the first character from pos on that the leading loop does not take, or that it takes only with the one before it.
func (m *matcher) pastRun(pos int) int {
	from := pos
	for pos < len(m.text) {
		n := oneOfLoop(m.lead, m.text, pos)
		if n == 0 || n == 2 && m.text[pos] == '\r' {
			break
		}
		pos += n
	}
	m.pay(int64(pos - from))
	return pos
}

// found is the place of the match.
func (m *matcher) found() (from, to int) { return int(m.slots[0]), int(m.slots[1]) }

// group is what a group matched; empty if it was not part of the match.
func (m *matcher) group(n int) string {
	if from, to := m.slots[2*n], m.slots[2*n+1]; from >= 0 {
		return m.text[from:to]
	}
	return ""
}

// width is the bytes of the character at pos.
func width(text string, pos int) int {
	if text[pos] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(text[pos:])
	return n
}

// widthBefore is the bytes of the character that ends at pos.
func widthBefore(text string, pos int) int {
	if text[pos-1] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeLastRuneInString(text[:pos])
	return n
}

// inClass is the bytes of the character at pos if it is of a class, else 0.
func inClass(c *class, text string, pos int) int {
	if pos == len(text) {
		return 0
	}
	if b := text[pos]; b < utf8.RuneSelf {
		return int(c.ascii[b/64] >> (b % 64) & 1)
	}
	r, n := utf8.DecodeRuneInString(text[pos:])
	if !c.set.contains(r) {
		return 0
	}
	return n
}

// anythingAt is the bytes that opAnything takes at pos: a character, or CR LF; 0 at the end.
func anythingAt(text string, pos int) int {
	if pos == len(text) {
		return 0
	}
	if strings.HasPrefix(text[pos:], "\r\n") {
		return 2
	}
	return width(text, pos)
}

// push saves a state.
func (m *matcher) push(s state) {
	if len(m.stack) >= m.stackMax {
		m.err = ErrStackOverflow.New()
		return
	}
	m.stack = append(m.stack, s)
}

// save pushes a state to go back to, and pays for it.
func (m *matcher) save(kind stateKind, a, b, c int) {
	m.payState()
	m.push(state{kind, int32(a), int32(b), int32(c)})
}

// set changes a slot.
func (m *matcher) set(slot int32, value int) {
	m.push(state{kind: putBack, a: slot, b: m.slots[slot]})
	m.slots[slot] = int32(value)
}

// cut forgets the states above a height, and keeps what they would have put back.
func (m *matcher) cut(height int32) {
	above := m.stack[height:]
	m.pay(int64(len(above)))
	kept := above[:0]
	for _, s := range above {
		if s.kind == putBack {
			kept = append(kept, s)
		}
	}
	m.stack = m.stack[:int(height)+len(kept)]
}

// unwind puts everything back that was changed above a height.
func (m *matcher) unwind(height int32) {
	for i := len(m.stack) - 1; i >= int(height); i-- {
		if s := m.stack[i]; s.kind == putBack {
			m.slots[s.a] = s.b
		}
	}
	m.stack = m.stack[:height]
}
