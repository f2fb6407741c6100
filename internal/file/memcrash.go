package file

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashMode says what a clone keeps of what was not synced.
type CrashMode uint8

const (
	// KeepAll is the death of the process: the machine lives on, and what is not synced may still be lost by the clone.
	KeepAll CrashMode = iota
	// DropUnsynced is a power cut with a disk that did nothing ahead of time.
	DropUnsynced
	// Random is a power cut with chance: of the changes of names in a directory a first part survives (file systems
	// keep them in order, and a rename whole); of every write nothing, all, or some of its sectors.
	Random
)

// Clone is a second disk: this one as the crash leaves it at this moment. Nobody has files open on it or holds locks.
func (m *Mem) Clone(crash CrashMode) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.copy()
	if crash != KeepAll {
		c.powerCut(crash)
	}
	return c
}

func (m *Mem) copy() *Mem {
	c := &Mem{rng: newRand(m.rng.Uint64()), unit: m.unit}
	made := map[*inode]*inode{}
	c.root = m.root.copy(made)
	for _, d := range m.dirs {
		var names dirChange
		for _, n := range d {
			names = append(names, nameChange{n.dir.copy(made), n.name, n.to.copy(made)})
		}
		c.dirs = append(c.dirs, names)
	}
	return c
}

// copy is a deep copy; made has what was copied already.
func (n *inode) copy(made map[*inode]*inode) *inode {
	if n == nil || made[n] != nil {
		return made[n]
	}
	c := &inode{mode: n.mode}
	made[n] = c
	if n.names == nil {
		c.data, c.kept, c.unsynced = n.data.clone(), n.kept.clone(), slices.Clone(n.unsynced)
		return c
	}
	c.names, c.keptNames = map[string]*inode{}, map[string]*inode{}
	for name, to := range n.names {
		c.names[name] = to.copy(made)
	}
	for name, to := range n.keptNames {
		c.keptNames[name] = to.copy(made)
	}
	return c
}

// powerCut leaves only what survives, and that is durable.
func (m *Mem) powerCut(crash CrashMode) {
	if crash == Random {
		for _, dir := range m.changedDirs() {
			m.settleDir(dir, m.rng.IntN(len(m.dirs)+1))
		}
	}
	m.dirs = nil
	m.root.powerCut(crash, m.rng)
}

func (n *inode) powerCut(crash CrashMode, rng *rand.Rand) {
	if n.names == nil {
		if crash == Random {
			for _, c := range n.unsynced {
				c.tear(&n.kept, rng)
			}
		}
		n.unsynced = nil
		n.data = n.kept.clone()
		return
	}
	n.names = maps.Clone(n.keptNames)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		n.names[name].powerCut(crash, rng)
	}
}

// dirChange is what one call does to names: all of it survives or none.
type dirChange []nameChange

// nameChange lets name in dir mean to, or nothing.
type nameChange struct {
	dir  *inode
	name string
	to   *inode
}

// change makes names visible. They are durable after settleDir.
func (m *Mem) change(names ...nameChange) {
	for _, n := range names {
		n.apply(n.dir.names)
	}
	m.dirs = append(m.dirs, names)
}

func (n nameChange) apply(names map[string]*inode) {
	if n.to == nil {
		delete(names, n.name)
	} else {
		names[n.name] = n.to
	}
}

// changedDirs is every directory with a change that is not durable, in the order of their first one.
func (m *Mem) changedDirs() []*inode {
	var dirs []*inode
	for _, c := range m.dirs {
		for _, n := range c {
			if !slices.Contains(dirs, n.dir) {
				dirs = append(dirs, n.dir)
			}
		}
	}
	return dirs
}

// settleDir makes durable, of the first cut changes, those of dir and the earlier ones they rest on: when a rename
// brought a file here, what was done before in the directory it came from. Others stay as they are, so that a
// forgotten SyncDir shows.
func (m *Mem) settleDir(dir *inode, cut int) {
	cut = min(cut, len(m.dirs)) // an earlier settleDir of the same crash may have shortened the list
	touched := map[*inode]bool{dir: true}
	take := make([]bool, cut)
	for i := cut - 1; i >= 0; i-- {
		for _, n := range m.dirs[i] {
			take[i] = take[i] || touched[n.dir]
		}
		if take[i] {
			for _, n := range m.dirs[i] {
				touched[n.dir] = true
			}
		}
	}
	rest := slices.Clone(m.dirs[cut:])
	var left []dirChange
	for i, c := range m.dirs[:cut] {
		if !take[i] {
			left = append(left, c)
			continue
		}
		for _, n := range c {
			n.apply(n.dir.keptNames)
		}
	}
	m.dirs = append(left, rest...)
}

// change is something done to the bytes of a file.
type change struct {
	kind   changeKind
	off    int64
	n      int64  // of a zeroing: how many bytes; of a resize: the new size; of a growth: at least that
	data   []byte // of a write
	atomic bool   // survives whole or not at all
}

type changeKind uint8

const (
	changeWrite changeKind = iota
	changeZero
	changeResize
	changeGrow
)

func (c change) apply(b *blob) {
	switch c.kind {
	case changeWrite:
		b.write(c.data, c.off)
	case changeZero:
		b.zero(c.off, min(c.n, max(0, b.size-c.off)))
	case changeResize:
		b.resize(c.n)
	case changeGrow:
		b.resize(max(b.size, c.n))
	}
}

// tear is apply as chance has it: a third of all changes are lost, a third are kept, and of the writes among the last
// third every sector has its own luck.
func (c change) tear(b *blob, rng *rand.Rand) {
	switch luck := rng.IntN(3); {
	case luck == 0:
	case luck == 1 || c.kind != changeWrite || c.atomic:
		c.apply(b)
	default:
		for done := int64(0); done < int64(len(c.data)); {
			at := c.off + done
			end := min(int64(len(c.data)), done+sectorSize-at%sectorSize)
			if rng.IntN(2) == 0 {
				b.write(c.data[done:end], at)
			}
			done = end
		}
	}
}
