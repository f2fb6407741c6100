package pool

import (
	"context"

	"github.com/hearthdb/hearth/internal/page"
)

// Class says on whose behalf I/O is done. A lower class never makes a higher one wait behind a queue of it.
type Class uint8

// The classes, the highest first.
const (
	ClassMiss Class = iota
	ClassWriteBack
	ClassRedo
	ClassReadAhead
)

// Write is a page to be written. The page is the pool's copy, stamped, and stays as it is until the call returns.
type Write struct {
	ID   page.ID
	Page *page.Page
}

// Source is where pages come from and return to: the files, or recovery's redo-on-touch over them.
type Source interface {
	// ReadPage fills p with the page as it has to be now, its checksum verified: zeroes for a page never written.
	// first is 0 when the file has the page so, else a lower bound of the first change from the log that the file lacks.
	ReadPage(ctx context.Context, id page.ID, p *page.Page, class Class) (first page.LSN, err error)
	// Repair does the same from the file and the whole kept log, for a page in memory that proved damaged.
	Repair(ctx context.Context, id page.ID, p *page.Page) (first page.LSN, err error)
	// WritePages makes the pages durable; a death in the middle leaves each old or new.
	WritePages(ctx context.Context, writes []Write) error
}
