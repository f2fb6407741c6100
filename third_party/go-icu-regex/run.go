package regex

import (
	"strings"
	"unicode/utf8"
)

// run matches at a place. false: it does not match there, or the search has ended with an error.
func (m *matcher) run(start int) bool {
	pc, pos, text := 0, start, m.text
	for {
		ok := true
		if m.work--; m.work < 0 {
			m.refill()
		}
		if m.err != nil {
			return false
		}
		in := &m.code[pc]
		pc++
		switch in.op {
		case opMatch:
			m.slots[0], m.slots[1] = int32(start), int32(pos)
			return true
		case opByte:
			if ok = pos < len(text) && text[pos] == byte(in.x); ok {
				pos++
			}
		case opText:
			m.pay(int64(len(in.text) / 8))
			if ok = strings.HasPrefix(text[pos:], in.text); ok {
				pos += len(in.text)
			}
		case opFold:
			pos, ok = m.foldedText(in.fold, pos)
		case opClass:
			n := inClass(in.set, text, pos)
			pos, ok = pos+n, n > 0
		case opAnything:
			n := anythingAt(text, pos)
			pos, ok = pos+n, n > 0
		case opLineEnd:
			n := lineEndAt(text, pos)
			pos, ok = pos+n, n > 0
		case opGrapheme:
			if ok = pos < len(text); ok {
				end := graphemeEnd(text, pos)
				m.pay(int64(end - pos))
				pos = end
			}
		case opAssert:
			ok = m.holds(anchor(in.x), pos)
		case opJump:
			pc = int(in.x)
		case opBranch:
			m.save(goOn, int(in.y), pos, 0)
			pc = int(in.x)
		case opMark:
			m.set(in.x, pos)
		case opIfStuck:
			if int32(pos) == m.slots[in.x] {
				pc = int(in.y)
			}
		case opClassLoop, opAnyLoop:
			pos, ok = m.oneLoop(in, pc, pos)
		case opGroupEnd:
			m.set(2*in.x, int(m.slots[in.y]))
			m.set(2*in.x+1, pos)
		case opCount:
			m.set(in.x, 0)
		case opLoop:
			switch count := m.slots[in.x]; {
			case count < in.y:
			case count >= in.z:
				pc = int(in.w)
			case in.greed == lazy:
				m.save(goOn, pc, pos, 0)
				pc = int(in.w)
			default:
				m.save(goOn, int(in.w), pos, 0)
			}
		case opLoopEnd:
			m.set(in.x, int(m.slots[in.x])+1)
			if pc = int(in.y); int32(pos) == m.slots[in.x+1] {
				pc = int(in.z)
			}
		case opAtomic:
			m.set(in.x, len(m.stack)+1)
		case opAtomicEnd:
			m.cut(m.slots[in.x])
		case opAhead, opBehind:
			m.set(in.x, pos)
			m.set(in.x+1, len(m.stack)+1)
			if in.y > 0 {
				m.save(goOn, int(in.y), pos, 0)
			}
			if in.op == opBehind {
				pos, ok = m.behind(in, pc, pos)
			}
		case opBehindEnd, opAheadEnd:
			if ok = in.op == opAheadEnd || int32(pos) == m.slots[in.x]; ok {
				pos = int(m.slots[in.x])
				m.cut(m.slots[in.x+1])
			}
		case opBehindFailed, opAheadFailed:
			if in.op == opAheadFailed || int32(pos) == m.slots[in.x] {
				m.unwind(m.slots[in.x+1])
			}
			ok = false
		case opBackRef, opBackRefFold:
			pos, ok = m.backRef(in, pos)
		}
		if !ok {
			if pc, pos, ok = m.goBack(); !ok {
				return false
			}
		}
	}
}

// goBack takes up the last saved state; false if there is none.
func (m *matcher) goBack() (pc, pos int, ok bool) {
	for len(m.stack) > 0 {
		s := &m.stack[len(m.stack)-1]
		switch s.kind {
		case putBack:
			m.slots[s.a] = s.b
		case goOn:
			pc, pos = int(s.a), int(s.b)
			m.stack = m.stack[:len(m.stack)-1]
			return pc, pos, true
		case giveBack:
			if pos, ok = m.giveBack(int(s.a), int(s.b), int(s.c)); ok {
				s.b = int32(pos)
				m.payState()
				return int(s.a), pos, true
			}
		case takeMore:
			loop := &m.code[s.a-1]
			n := 0
			if s.c > 0 {
				n = oneOfLoop(loop, m.text, int(s.b))
			}
			if n > 0 {
				s.b += int32(n)
				s.c--
				m.payState()
				return int(s.a), int(s.b), true
			}
		case tryFurther:
			if s.c > 0 && s.b > 0 {
				s.b -= int32(widthBefore(m.text, int(s.b)))
				s.c--
				m.payState()
				return int(s.a), int(s.b), true
			}
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
	return 0, 0, false
}

// oneLoop runs a loop over one character at a time. next is the instruction behind it.
func (m *matcher) oneLoop(in *instruction, next, pos int) (int, bool) {
	count, most, low, paid := int32(0), in.y, pos, pos
	if in.greed == lazy {
		most = in.x
	}
	for ; count < most; count++ {
		n := oneOfLoop(in, m.text, pos)
		if n == 0 {
			break
		}
		pos += n
		if count+1 == in.x {
			low = pos
		}
		if pos-paid >= 1<<16 { // a long text is not passed over without a look at the context
			m.pay(int64(pos - paid))
			paid = pos
			if m.err != nil {
				return pos, false
			}
		}
	}
	m.pay(int64(pos - paid))
	switch {
	case count < in.x:
		return pos, false
	case in.greed == lazy && in.y > in.x:
		m.save(takeMore, next, pos, int(in.y-in.x))
	case in.greed == greedy && pos > low:
		m.save(giveBack, next, pos, low)
	}
	return pos, true
}

// oneOfLoop is the bytes that one turn of a loop takes at pos, 0 if it ends there.
func oneOfLoop(in *instruction, text string, pos int) int {
	if in.op == opAnyLoop {
		return anythingAt(text, pos)
	}
	return inClass(in.set, text, pos)
}

// giveBack makes a loop end one character earlier, or where what must follow is seen; false when it is at its least.
func (m *matcher) giveBack(next, pos, low int) (int, bool) {
	if pos == low {
		return pos, false
	}
	loop, in := &m.code[next-1], &m.code[next]
	switch {
	case in.op == opByte && (loop.op == opClassLoop || in.x != '\n'):
		i := strings.LastIndexByte(m.text[low:pos], byte(in.x))
		m.pay(int64(pos-low-i) / 8)
		return low + i, i >= 0
	case in.op == opText && (loop.op == opClassLoop || in.text[0] != '\n'):
		end := min(len(m.text), pos-1+len(in.text))
		i := strings.LastIndex(m.text[low:end], in.text)
		m.pay(int64(pos-low-i) / 4)
		return low + i, i >= 0
	}
	if loop.op == opAnyLoop && pos-low >= 2 && m.text[pos-2:pos] == "\r\n" {
		return pos - 2, true
	}
	return pos - widthBefore(m.text, pos), true
}

// behind goes left for a look-behind by as little as it may match, and saves the other places.
func (m *matcher) behind(in *instruction, next, pos int) (int, bool) {
	for range in.z {
		if pos == 0 {
			return 0, false
		}
		pos -= widthBefore(m.text, pos)
	}
	m.pay(int64(in.z))
	if in.w > in.z {
		m.save(tryFurther, next, pos, int(in.w-in.z))
	}
	return pos, true
}

// foldedText is where text that folds to want ends; a character may fold to several and is taken as a whole.
func (m *matcher) foldedText(want []rune, pos int) (int, bool) {
	m.pay(int64(len(want) / 4))
	var buffer [3]rune
	for len(want) > 0 {
		if pos == len(m.text) {
			return pos, false
		}
		r, n := rune(m.text[pos]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(m.text[pos:])
		}
		for _, f := range foldFull(buffer[:0], r) {
			if len(want) == 0 || want[0] != f {
				return pos, false
			}
			want = want[1:]
		}
		pos += n
	}
	return pos, true
}

func (m *matcher) backRef(in *instruction, pos int) (int, bool) {
	from, to := m.slots[2*in.x], m.slots[2*in.x+1]
	if from < 0 {
		return pos, false
	}
	group := m.text[from:to]
	m.pay(int64(len(group) / 4))
	if in.op == opBackRefFold {
		return m.foldedText(folded([]rune(group)), pos)
	}
	if !strings.HasPrefix(m.text[pos:], group) {
		return pos, false
	}
	return pos + len(group), true
}

// lineEndAt is the bytes of the line end at pos, or 0.
func lineEndAt(text string, pos int) int {
	if pos == len(text) {
		return 0
	}
	if strings.HasPrefix(text[pos:], "\r\n") {
		return 2
	}
	r, n := utf8.DecodeRuneInString(text[pos:])
	if !isLineEnd(r) {
		return 0
	}
	return n
}
