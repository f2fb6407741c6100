package rows

import (
	"errors"
	"fmt"
)

// CorruptError reports stored bytes that contradict themselves or their table.
type CorruptError struct {
	Where string // "row", "key", "index entry", "JSON", "geometry"
	What  string // "column 3 ends at byte 12 of 9"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("damaged %s: %s; check the database with 'hearth check'", e.Where, e.What)
}

func corrupt(where, format string, args ...any) error {
	return &CorruptError{Where: where, What: fmt.Sprintf(format, args...)}
}

var (
	// ErrOutOfRange: the column's type cannot hold the value.
	ErrOutOfRange = errors.New("value out of range for the type of the column")
	// ErrInexact: the end of a range is a value that the column's type would round.
	ErrInexact = errors.New("the column cannot hold the value exactly")
	// ErrNull: NULL for a part of a key that was declared NOT NULL.
	ErrNull = errors.New("NULL in a NOT NULL part of a key")
)
