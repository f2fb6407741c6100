package txn

import (
	"context"
	"time"
)

// losersPoll is how often WaitLosers looks.
const losersPoll = 10 * time.Millisecond

// WaitLosers waits until every transaction that was open at the crash is rolled back.
func (m *Manager) WaitLosers(ctx context.Context) error {
	for m.Losers() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(losersPoll):
		}
	}
	return nil
}
