package regex

import (
	"unicode"
	"unicode/utf8"
)

// compiler writes a program.
type compiler struct {
	program
	classes map[*runeRange]*class // made so far, by the first range of their sets
}

// compile makes a program of a pattern.
func compile(source string, flags RegexFlags) (*program, error) {
	p, err := parse(source, flags)
	if err != nil {
		return nil, err
	}
	c := &compiler{classes: map[*runeRange]*class{}}
	c.groups, c.names = p.groups, p.names
	c.slots = 2 * (p.groups + 1)
	c.node(p.root)
	c.emit(instruction{op: opMatch})
	c.opening(p.root)
	return &c.program, nil
}

func (c *compiler) emit(in instruction) (at int) {
	c.code = append(c.code, in)
	return len(c.code) - 1
}

func (c *compiler) here() int32 { return int32(len(c.code)) }

// newSlots takes n slots.
func (c *compiler) newSlots(n int) int32 {
	c.slots += n
	return int32(c.slots - n)
}

func (c *compiler) class(set runeSet) *class {
	if len(set) == 0 {
		return &class{}
	}
	have := c.classes[&set[0]]
	if have == nil {
		have = newClass(set)
		c.classes[&set[0]] = have
	}
	return have
}

func (c *compiler) node(n *node) {
	switch n.kind {
	case sequence:
		for _, sub := range n.subs {
			c.node(sub)
		}
	case choice:
		c.choice(n.subs)
	case literal:
		c.literal(n)
	case oneOf:
		c.emit(instruction{op: opClass, set: c.class(n.set)})
	case anything:
		c.emit(instruction{op: opAnything})
	case lineEnd:
		c.emit(instruction{op: opLineEnd})
	case grapheme:
		c.emit(instruction{op: opGrapheme})
	case assert:
		c.emit(instruction{op: opAssert, x: int32(n.at)})
	case repeat:
		c.repeat(n)
	case group:
		slot := c.newSlots(1)
		c.emit(instruction{op: opMark, x: slot})
		c.node(n.subs[0])
		c.emit(instruction{op: opGroupEnd, x: int32(n.group), y: slot})
	case atomicGroup:
		c.atomic(func() { c.node(n.subs[0]) })
	case lookAhead, lookBehind:
		c.look(n)
	case backRef:
		op := opBackRef
		if n.fold {
			op = opBackRefFold
		}
		c.emit(instruction{op: op, x: int32(n.group)})
	}
}

func (c *compiler) literal(n *node) {
	switch {
	case !n.fold && len(n.runes) == 1 && n.runes[0] < utf8.RuneSelf:
		c.emit(instruction{op: opByte, x: int32(n.runes[0])})
	case !n.fold:
		c.emit(instruction{op: opText, text: string(n.runes)})
	default:
		if set, ok := n.single(); ok {
			c.emit(instruction{op: opClass, set: c.class(set)})
			return
		}
		c.emit(instruction{op: opFold, fold: folded(n.runes)})
	}
}

func folded(runes []rune) (out []rune) {
	for _, r := range runes {
		out = foldFull(out, r)
	}
	return out
}

func (c *compiler) choice(subs []*node) {
	var ends []int
	for i, sub := range subs {
		if i == len(subs)-1 {
			c.node(sub)
			break
		}
		branch := c.emit(instruction{op: opBranch, x: c.here() + 1})
		c.node(sub)
		ends = append(ends, c.emit(instruction{op: opJump}))
		c.code[branch].y = c.here()
	}
	for _, end := range ends {
		c.code[end].x = c.here()
	}
}

func (c *compiler) repeat(n *node) {
	sub := n.subs[0]
	if n.max == 0 {
		return
	}
	if set, ok := sub.single(); ok {
		c.emit(instruction{op: opClassLoop, set: c.class(set), x: int32(n.min), y: int32(n.max), greed: n.greed})
		return
	}
	if sub.kind == anything {
		c.emit(instruction{op: opAnyLoop, x: int32(n.min), y: int32(n.max), greed: n.greed})
		return
	}
	if n.greed == possessive {
		c.atomic(func() { c.loop(n, greedy) })
		return
	}
	c.loop(n, n.greed)
}

// loop writes a loop over what is more than one character.
func (c *compiler) loop(n *node, greed greed) {
	sub := n.subs[0]
	var branches []int
	branch := func(again int32) {
		branches = append(branches, c.emit(instruction{op: opBranch, x: again}))
	}
	switch {
	case n.min == 1 && n.max == 1:
		c.node(sub)
		return
	case n.min == 0 && n.max == 1:
		branch(c.here() + 1)
		c.node(sub)
	case n.min == 0 && n.max == unbounded:
		start := c.here()
		branch(start + 1)
		stuck := c.iteration(sub)
		c.emit(instruction{op: opJump, x: start})
		c.code[stuck].y = c.here()
	case n.min == 1 && n.max == unbounded:
		start := c.here()
		stuck := c.iteration(sub)
		branch(start)
		c.code[stuck].y = c.here()
	default:
		c.counted(n, greed)
		return
	}
	for _, at := range branches {
		in := &c.code[at]
		if in.y = c.here(); greed == lazy {
			in.x, in.y = in.y, in.x
		}
	}
}

// iteration writes one turn, and a way out if it matched nothing: another would do the same for ever.
func (c *compiler) iteration(sub *node) (stuck int) {
	slot := c.newSlots(1)
	c.emit(instruction{op: opMark, x: slot})
	c.node(sub)
	return c.emit(instruction{op: opIfStuck, x: slot})
}

func (c *compiler) counted(n *node, greed greed) {
	slot := c.newSlots(2)
	c.emit(instruction{op: opCount, x: slot})
	start := c.emit(instruction{op: opLoop, x: slot, y: int32(n.min), z: int32(n.max), greed: greed})
	c.emit(instruction{op: opMark, x: slot + 1})
	c.node(n.subs[0])
	end := c.emit(instruction{op: opLoopEnd, x: slot, y: int32(start)})
	c.code[start].w, c.code[end].z = c.here(), c.here()
}

func (c *compiler) atomic(inside func()) {
	slot := c.newSlots(1)
	c.emit(instruction{op: opAtomic, x: slot})
	inside()
	c.emit(instruction{op: opAtomicEnd, x: slot})
}

func (c *compiler) look(n *node) {
	in := instruction{op: opAhead, x: c.newSlots(2)}
	end, failed := opAheadEnd, opAheadFailed
	if n.kind == lookBehind {
		least, most := n.subs[0].width()
		in.op, in.z, in.w = opBehind, int32(least), int32(most)
		end, failed = opBehindEnd, opBehindFailed
	}
	start := c.emit(in)
	c.node(n.subs[0])
	if !n.negative {
		c.emit(instruction{op: end, x: in.x})
		return
	}
	c.emit(instruction{op: failed, x: in.x})
	c.code[start].y = c.here()
}

// opening finds what every match begins with.
func (c *compiler) opening(root *node) {
	for n := root; ; n = n.subs[0] {
		if n.kind == assert && n.at == textStart {
			c.atZero = true
			return
		}
		if n.kind == literal && !n.fold {
			c.prefix = string(n.runes)
			return
		}
		if n.kind == repeat && n.max == unbounded && n.greed != possessive && c.code[0].op >= opClassLoop && c.code[0].op <= opAnyLoop {
			c.lead = &c.code[0]
			break
		}
		if n.kind != sequence && n.kind != group && n.kind != atomicGroup || len(n.subs) == 0 {
			break
		}
	}
	set, empty := root.starts()
	if empty {
		return
	}
	c.first = new([256]bool)
	for _, r := range set {
		for b := leadByte(r.lo); b <= leadByte(r.hi); b++ {
			c.first[b] = true
		}
	}
	if set.contains(unicode.ReplacementChar) { // which is also what a byte is that is no part of a character
		for b := utf8.RuneSelf; b < 256; b++ {
			c.first[b] = true
		}
	}
}

// leadByte is the first byte of r in UTF-8, as an int for loops that reach 255.
func leadByte(r rune) int {
	var b [utf8.UTFMax]byte
	utf8.EncodeRune(b[:], r)
	return int(b[0])
}

// starts is the characters that what n matches begins with; empty says that it may match the empty text.
func (n *node) starts() (set runeSet, empty bool) {
	switch n.kind {
	case sequence:
		var sets []runeSet
		for empty = true; empty && len(sets) < len(n.subs); {
			set, empty = n.subs[len(sets)].starts()
			sets = append(sets, set)
		}
		return runeSet(nil).union(sets...), empty
	case choice:
		var sets []runeSet
		for _, sub := range n.subs {
			set, mayBeEmpty := sub.starts()
			sets, empty = append(sets, set), empty || mayBeEmpty
		}
		return runeSet(nil).union(sets...), empty
	case literal:
		if n.fold {
			return foldStarts(folded(n.runes[:1])[0]), false
		}
		return setOf(runeRange{n.runes[0], n.runes[0]}), false
	case oneOf:
		return n.set, false
	case lineEnd:
		return vertical(), false
	case anything, grapheme:
		return everything, false
	case repeat:
		set, empty := n.subs[0].starts()
		return set, empty || n.min == 0
	case group, atomicGroup:
		return n.subs[0].starts()
	}
	return nil, true
}
