package rows

import "fmt"

// CorruptError reports stored bytes that contradict themselves or their table.
type CorruptError struct {
	Where string // "row", "key", "index entry"
	What  string // "column 3: string ends past the row"
}

func (e *CorruptError) Error() string { return fmt.Sprintf("corrupt %s: %s", e.Where, e.What) }
