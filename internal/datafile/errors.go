package datafile

import (
	"fmt"

	"github.com/hearthdb/hearth/internal/page"
)

// ErrNoSpace says that there is no file for a space: it was never created, or was removed.
type ErrNoSpace struct {
	Space uint32
}

func (e ErrNoSpace) Error() string { return fmt.Sprintf("space %d does not exist", e.Space) }

// StoppedError says that writing ended for good when Cause happened (rule 6).
type StoppedError struct {
	Cause error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("writing to the data files has stopped, mend the disk and restart: %v", e.Cause)
}

func (e *StoppedError) Unwrap() error { return e.Cause }

func pageError(what string, id page.ID, err error) error {
	return fmt.Errorf("%s page %v: %w", what, id, err)
}
