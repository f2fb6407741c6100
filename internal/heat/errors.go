package heat

import "errors"

var (
	// ErrForeign says that a dump lists the pages of another database.
	ErrForeign = errors.New("the heat dump is of another database")
	// ErrNotDump says that a file is something else.
	ErrNotDump = errors.New("is no heat dump")
	// ErrNoDump says that there is no dump to load.
	ErrNoDump = errors.New("there is no heat dump")
)
