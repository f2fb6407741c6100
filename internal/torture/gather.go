package torture

import "fmt"

// gathered is a state as read from the database, with what is wrong in it regardless of any model.
type gathered struct {
	state
	tree   string // the one that rows belong to now
	wrongs []string
}

// maxWrongs bounds the complaints kept: the first ones tell the story.
const maxWrongs = 20

func newGathered() *gathered { return &gathered{state: *newState()} }

func (g *gathered) wrong(format string, args ...any) {
	if len(g.wrongs) < maxWrongs {
		g.wrongs = append(g.wrongs, fmt.Sprintf(format, args...))
	}
}

func (g *gathered) begin(tree string) {
	g.tree = tree
	switch tree {
	case bankTree:
		g.bank = map[uint16]int64{}
	case stampTree:
	default:
		if g.trees[tree] != nil {
			g.wrong("tree %s is there twice", tree)
		}
		g.trees[tree] = map[string]stamp{}
	}
}

func (g *gathered) add(r row) {
	if r.bad != "" {
		g.wrong("tree %s, key %s: %s", g.tree, showKey(r.key), r.bad)
		return
	}
	if g.tree != bankTree && g.tree != stampTree {
		g.trees[g.tree][string(r.key)] = r.stamp
		return
	}
	d := decoder{b: r.key}
	no := uint16(d.byte())<<8 | uint16(d.byte())
	if d.bad || len(d.b) > 0 {
		g.wrong("tree %s has a key of %d bytes, want 2", g.tree, len(r.key))
		return
	}
	var err error
	if g.tree == bankTree {
		g.bank[no], err = parseBank(r.value)
	} else {
		g.seqs[no], err = parseSeq(r.value)
	}
	if err != nil {
		g.wrong("tree %s, key %d: %v", g.tree, no, err)
	}
}

// showKey is a key for people: long ones are long in their tails only.
func showKey(key []byte) string {
	const most = 12
	if len(key) > most {
		return fmt.Sprintf("%x… (%d bytes)", key[:most], len(key))
	}
	return fmt.Sprintf("%x", key)
}
