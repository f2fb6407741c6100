// Package meddle does to the memory that a dead database left what should not happen to it: it removes it, puts an older one in
// its place, or overwrites some of its bytes.
//
// It knows the name of a region's file and where in it header and descriptors are. It does not know what a start makes of it.
//
// # Rules
//
//  1. Nobody has the database open.
//  2. What is done is told in words, for whoever looks into what followed.
package meddle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// What is done to the region between two lives.
type What string

const (
	None        What = ""
	Delete      What = "region deleted"
	Off         What = "a life in ordinary memory" // done by whoever starts the next life
	Header      What = "header damaged"
	Descriptors What = "descriptors damaged"
	Stale       What = "region of an earlier life"
)

// MayLose tells whether the log in memory may be gone after it.
func (w What) MayLose() bool { return w != None && w != Descriptors }

// Draw says what to do before the next life: nothing, most of the time. corrupt allows damage and old regions.
func Draw(rnd *rand.Rand, corrupt bool) What {
	switch p := rnd.IntN(100); {
	case p < 5:
		return Delete
	case p < 8:
		return Off
	case !corrupt:
	case p < 22:
		return Header
	case p < 36:
		return Descriptors
	case p < 42:
		return Stale
	}
	return None
}

// Memory is the folder in which the region of one database lies.
type Memory struct {
	Dir     string
	Stale   string // where a copy of an older region is kept, on the same tmpfs
	Rand    *rand.Rand
	Corrupt bool // keep copies, for Stale

	kept bool // there is a copy
}

// keepChance is in how many of a hundred lives a copy is made when there is none.
const keepChance = 20

// Do does it, and tells what.
func (m *Memory) Do(w What) (string, error) {
	region, err := Region(m.Dir)
	if err != nil {
		return "", err
	}
	if region == "" || w == None || w == Off {
		return m.keep(region, w)
	}
	told := ""
	switch w {
	case Delete:
		err = os.Remove(region)
	case Stale:
		if !m.kept {
			return "; there is no earlier region yet", nil
		}
		m.kept = false
		err = os.Rename(m.Stale, region)
	default:
		told, err = damage(m.Rand, region, w)
	}
	return "; " + string(w) + told, err
}

// keep copies the region now and then, to put it in the place of a later one.
func (m *Memory) keep(region string, w What) (string, error) {
	told := ""
	if w != None {
		told = "; " + string(w)
	}
	if !m.Corrupt || m.kept || region == "" || m.Rand.IntN(100) >= keepChance {
		return told, nil
	}
	m.kept = true
	return told, copyRegion(m.Stale, region)
}

// Region is the file of the one region in a folder, empty if there is none.
func Region(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.region"))
	if err != nil || len(found) == 0 {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%d regions of one database: %v", len(found), found)
	}
	return found[0], nil
}
