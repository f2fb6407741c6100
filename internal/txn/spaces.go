package txn

import (
	"context"
	"encoding/binary"
)

// MakeSpace gives out the number of a new space. If the transaction is rolled back, now or after a crash, the space is
// dropped. Make its file and its tree after this call.
func (tx *Tx) MakeSpace(ctx context.Context) (uint32, error) {
	if err := tx.checkWrite(nil, 0); err != nil {
		return 0, err
	}
	no, err := tx.m.AllocSpace(ctx)
	if err != nil {
		return 0, err
	}
	return no, tx.note(ctx, recMakeSpace, no)
}

// DropSpace drops a space some time after the transaction has committed: when no snapshot is older and no writer began before.
func (tx *Tx) DropSpace(ctx context.Context, no uint32) error {
	if err := tx.checkWrite(nil, 0); err != nil {
		return err
	}
	return tx.note(ctx, recDropSpace, no)
}

// note logs a record about a space.
func (tx *Tx) note(ctx context.Context, typ byte, no uint32) error {
	w, err := tx.writer(ctx)
	if err != nil {
		return err
	}
	g, err := tx.m.begin(ctx)
	if err != nil {
		return err
	}
	spot, err := tx.m.prepare(g, w, 4)
	if err != nil {
		g.Abort()
		return err
	}
	w.push(g, spot, typ, binary.LittleEndian.AppendUint32(nil, no))
	if _, err := g.Commit(); err != nil {
		tx.m.dead.Store(true)
		return err
	}
	return nil
}
