package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth"
)

// statement is one that runs. It is the context of all that is done for it.
type statement struct {
	context.Context
	stop context.CancelCauseFunc

	text  string
	said  string // what of the text is this statement
	began time.Time
	kind  comKind
	sent  uint64 // rows
	ended bool   // its end was seen to

	nested int // statements of procedures that lie in each other
	parsed int // texts, its own and those of views, triggers and procedures

	spent  hearth.Spent // by the engine
	memory atomic.Int64 // bytes that it is known to hold, see memory.go
}

// end stops the statement from outside: what it waits for returns, and why is what its client is told.
func (st *statement) end(why error) { st.stop(why) }

// why the statement was stopped, nil if it was not.
func (st *statement) why() error { return context.Cause(st.Context) }

// Value implements context.Context: whatever is done for the statement finds it by its key.
func (st *statement) Value(key any) any {
	if key == (statementKey{}) {
		return st
	}
	return st.Context.Value(key)
}

type statementKey struct{}

// statementOf the context, nil outside of one.
func statementOf(ctx context.Context) *statement {
	st, _ := ctx.Value(statementKey{}).(*statement)
	return st
}
