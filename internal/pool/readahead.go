package pool

import (
	"github.com/hearthdb/hearth/internal/page"
)

// readAheadDepth bounds the reads ahead in flight, in pages.
const readAheadDepth = 32

// Prefetch starts reading pages that are not in the pool, without waiting. What finds no place in the queue is
// left to be read when it is needed.
func (p *Pool) Prefetch(ids []page.ID) {
	for _, id := range ids {
		if _, ok := p.table.find(p, id); ok {
			continue
		}
		select {
		case p.ahead <- struct{}{}:
		default:
			return
		}
		if p.closed.Load() {
			<-p.ahead
			return
		}
		go func() {
			defer func() { <-p.ahead }()
			if f, err := p.pin(p.ctx, id, ClassReadAhead); err == nil { // an error is met again by whoever needs the page
				p.frames[f].unpin()
			}
		}()
	}
}
