package datafile

import "path/filepath"

// Path is the name of a space's file.
func (s *Set) Path(no uint32) string { return filepath.Join(s.cfg.Dir, spacesDir, nameOf(no)) }
