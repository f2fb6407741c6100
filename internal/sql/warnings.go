package sql

import gms "github.com/dolthub/go-mysql-server/sql"

// maxWarnings is how many warnings of a statement are kept, as MySQL's max_error_count: LOAD DATA may have one for each line.
const maxWarnings = 1024

// Warn implements gms.Session.
func (s *Session) Warn(w *gms.Warning) {
	if s.WarningCount() < maxWarnings {
		s.BaseSession.Warn(w)
	}
}
