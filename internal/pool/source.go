package pool

import (
	"context"
	"errors"

	"github.com/hearthdb/hearth/internal/page"
)

// Class says on whose behalf I/O is done. A lower class never makes a higher one wait behind a queue of it.
type Class uint8

// The classes, the highest first.
const (
	ClassMiss Class = iota
	ClassWriteBack
	ClassRedo
	ClassPrewarm
	ClassReadAhead
)

// ErrGone is what ReadPages says of pages whose space was dropped.
var ErrGone = errors.New("the space of the page is gone")

// Read is what ReadPages says of one page, as ReadPage does.
type Read struct {
	First page.LSN
	Err   error
}

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
	// ReadPages does the same for neighbours, the first of which is id, in one operation that does not wait for its turn.
	// It says of each page what came of it, unless all of them failed. Nobody wants those that are nil.
	ReadPages(ctx context.Context, id page.ID, pages []*page.Page, reads []Read, class Class) error
	// Repair does the same from the file and the whole kept log, for a page in memory that proved damaged.
	Repair(ctx context.Context, id page.ID, p *page.Page) (first page.LSN, err error)
	// WritePages makes the pages durable; a death in the middle leaves each old or new.
	WritePages(ctx context.Context, writes []Write) error
}
