package datafile

import (
	"path/filepath"

	"github.com/hearthdb/hearth/internal/page"
)

// Path is the name of a space's file.
func (s *Set) Path(no uint32) string { return filepath.Join(s.cfg.Dir, spacesDir, nameOf(no)) }

// Has says whether a space has a file.
func (s *Set) Has(no uint32) bool { return s.spaces.get(no) != nil }

// Pages is how many whole pages a space's file has.
func (s *Set) Pages(no uint32) (int64, error) {
	_, f, err := s.find(no)
	if err != nil {
		return 0, err
	}
	n, err := f.Size()
	return n / page.Size, err
}
