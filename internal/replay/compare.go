package replay

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// PageSet is the pages of a pool, as a dump lists them: space and number, 32 bits each.
type PageSet map[uint64]struct{}

// Add a page.
func (s PageSet) Add(space, number uint32) { s[uint64(space)<<32|uint64(number)] = struct{}{} }

// ReadPoolDump reads InnoDB's list of its buffer pool, a line "space,page" for each (the file ib_buffer_pool, written by SET
// GLOBAL innodb_buffer_pool_dump_now=1).
func ReadPoolDump(in io.Reader, name string) (PageSet, error) {
	set := PageSet{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		space, number, ok := strings.Cut(line, ",")
		a, err1 := strconv.ParseUint(space, 10, 32)
		b, err2 := strconv.ParseUint(number, 10, 32)
		if !ok || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%s:%d: %.40q is no page: want the list that innodb_buffer_pool_dump_now writes, lines of space,page", name, n, line)
		}
		set.Add(uint32(a), uint32(b))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return set, nil
}

// Comparison says how much of one pool another one holds.
type Comparison struct {
	Primary int               `json:"primary"` // pages
	Standby int               `json:"standby"`
	Both    int               `json:"both"`
	Share   float64           `json:"share"` // of the primary's pages that the standby holds, 0 to 1
	Spaces  []SpaceComparison `json:"spaces"`
}

// SpaceComparison is that of one space.
type SpaceComparison struct {
	Space   uint32 `json:"space"`
	Primary int    `json:"primary"`
	Both    int    `json:"both"`
}

// Compare two pools. The servers must have the same files, as a primary and its physical copy have: a page is known by its
// number.
func Compare(primary, standby PageSet) Comparison {
	c := Comparison{Primary: len(primary), Standby: len(standby)}
	spaces := map[uint32]*SpaceComparison{}
	for id := range primary {
		s := spaces[uint32(id>>32)]
		if s == nil {
			s = &SpaceComparison{Space: uint32(id >> 32)}
			spaces[s.Space] = s
		}
		s.Primary++
		if _, ok := standby[id]; ok {
			s.Both++
			c.Both++
		}
	}
	if c.Primary > 0 {
		c.Share = float64(c.Both) / float64(c.Primary)
	}
	for _, s := range spaces {
		c.Spaces = append(c.Spaces, *s)
	}
	slices.SortFunc(c.Spaces, func(a, b SpaceComparison) int { return b.Primary - a.Primary }) // the largest first
	return c
}
