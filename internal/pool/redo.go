package pool

import (
	"context"

	"github.com/hearthdb/hearth/internal/page"
)

// Redo makes sure that a page has all its records: it is brought in if it is not here, and whoever is bringing it is waited for. Its
// Source brings it forward.
func (p *Pool) Redo(ctx context.Context, id page.ID) error {
	f, err := p.pin(ctx, id, ClassRedo)
	if err != nil {
		return err
	}
	p.frames[f].unpin()
	return nil
}
