package txn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// loserRetry is how long a loser that cannot be rolled back (a damaged page, a full disk) is left alone.
const loserRetry = time.Second

// rollback undoes everything w did and logs its end. The caller retires it.
func (m *Manager) rollback(ctx context.Context, w *writer) error {
	for w.last != 0 {
		if err := m.undoLast(ctx, w); err != nil {
			return err
		}
	}
	if !w.opened {
		return nil
	}
	// The number of its end is later than every view that did not see it, so purge leaves its records to them.
	_, err := m.end(ctx, w, true)
	return err
}

// undoLast undoes the last record of w that is left. The one way back for a client's rollback, to a savepoint or whole, and
// for losers.
func (m *Manager) undoLast(ctx context.Context, w *writer) error {
	r, _, err := m.readRecord(ctx, w.last, nil)
	if err != nil {
		return err
	}
	switch r.typ {
	case recInsert, recUpdate, recDelete, recLarge:
		t, err := m.cfg.Trees(r.space)
		if errors.Is(err, ErrTreeNotFound) {
			return m.popOnly(ctx, w, &r) // rolled back already, up to the space; the pop was lost
		}
		if err != nil {
			return err
		}
		if r.typ != recLarge {
			return m.undoEntry(ctx, t, w, &r)
		}
		if err := m.freeChain(ctx, t, &r); err != nil {
			return err
		}
	case recMakeSpace:
		if err := m.dropSpace(ctx, r.space); err != nil {
			return err
		}
	}
	return m.popOnly(ctx, w, &r)
}

// undoEntry puts the version before back, unless a writer who met this loser has done it, and pops the record.
func (m *Manager) undoEntry(ctx context.Context, t *btree.Tree, w *writer, r *record) error {
	g, err := m.begin(ctx)
	if err != nil {
		return err
	}
	pos, err := t.Seek(ctx, g, r.key, len(r.before))
	if err != nil {
		g.Abort()
		return err
	}
	ours := false
	if pos.Found {
		v, ok := parseVersion(pos.Value())
		if !ok {
			g.Abort()
			return badEntry(t, r.key)
		}
		ours = v.tx == w.id && (v.undo == r.ptr || r.typ == recInsert && v.undo == 0)
	}
	tail, err := m.fetchTail(g, w)
	if err != nil {
		g.Abort()
		return err
	}
	tidy := false
	switch {
	case !ours:
	case r.typ == recInsert || m.unneeded(r.before):
		tidy = pos.Remove()
	default:
		pos.Put(r.before)
	}
	w.pop(g, tail, r)
	return m.commitTidy(ctx, g, t, r.key, tidy)
}

// unneeded: a version to be put back is the delete mark of a transaction that all views see. Purge may have been there
// already and left the entry to its new writer, so that nobody would remove the mark again. The caller holds the leaf's
// latch: if some view in use does not see the deletion, purge has not been there, and comes after the latch.
func (m *Manager) unneeded(before []byte) bool {
	v, _ := parseVersion(before)
	if v.live() {
		return false
	}
	oldest, _ := m.oldestView()
	return oldest.sees(v.tx)
}

// commitTidy ends a group that may have removed an entry, and then tidies the leaf. A tree that cannot be tidied is
// only larger than it need be.
func (m *Manager) commitTidy(ctx context.Context, g *pool.Group, t *btree.Tree, key []byte, tidy bool) error {
	if _, err := g.Commit(); err != nil {
		m.dead.Store(true)
		return err
	}
	if tidy {
		if err := t.Tidy(ctx, key); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("a leaf could not be merged", "space", t.Space().No(), "err", err)
		}
	}
	return nil
}

func (m *Manager) popOnly(ctx context.Context, w *writer, r *record) error {
	g, err := m.begin(ctx)
	if err != nil {
		return err
	}
	tail, err := m.fetchTail(g, w)
	if err != nil {
		g.Abort()
		return err
	}
	w.pop(g, tail, r)
	if _, err = g.Commit(); err != nil {
		m.dead.Store(true)
	}
	return err
}

// dropSpace removes a space that nobody can reach. What led here must be durable first: after a power cut nobody may be
// told to undo or purge something in a file that is gone.
func (m *Manager) dropSpace(ctx context.Context, no uint32) error {
	if err := m.log.WaitDurable(ctx, m.log.Tail()); err != nil {
		return err
	}
	if err := m.cfg.OnDropSpace(ctx, no); err != nil {
		return fmt.Errorf("drop space %d: %w", no, err)
	}
	return nil
}

// restore puts the version before a loser's back under key, one step, on behalf of a writer that met it. The loser's records
// stay; the background walk finds the entry restored and pops them.
func (m *Manager) restore(ctx context.Context, t *btree.Tree, key []byte, loser *writer) error {
	for room := 0; ; {
		g, err := m.begin(ctx)
		if err != nil {
			return err
		}
		pos, err := t.Seek(ctx, g, key, room)
		if err != nil {
			g.Abort()
			return err
		}
		if !pos.Found {
			g.Abort()
			return nil
		}
		v, ok := parseVersion(pos.Value())
		if !ok {
			g.Abort()
			return badEntry(t, key)
		}
		if v.tx != loser.id {
			g.Abort()
			return nil
		}
		if v.before() == 0 {
			return m.commitTidy(ctx, g, t, key, pos.Remove())
		}
		// While the leaf is latched the entry is the loser's, so it has not ended and its record is there.
		r, err := m.recordIn(g, v.undo)
		if err == nil && (r.typ != recUpdate && r.typ != recDelete || r.space != t.Space().No() || string(r.key) != string(key)) {
			err = badRecord(v.undo)
		}
		if err != nil {
			g.Abort()
			return err
		}
		if len(r.before) > room {
			room = len(r.before)
			g.Abort()
			continue
		}
		if m.unneeded(r.before) {
			return m.commitTidy(ctx, g, t, key, pos.Remove())
		}
		pos.Put(r.before)
		return m.commitTidy(ctx, g, t, key, false)
	}
}

// recordIn reads a record in g, which may hold pages of trees; the result points into the page.
func (m *Manager) recordIn(g *pool.Group, ptr uint64) (record, error) {
	no, _ := page.SplitUndoPtr(ptr)
	h, err := g.Fetch(undoID(no), pool.Shared)
	if err != nil {
		return record{}, err
	}
	r, ok := recordAt(h.Page, ptr)
	if !ok {
		return r, badRecord(ptr)
	}
	return r, nil
}

// abandon makes a loser of a transaction whose rollback failed.
func (m *Manager) abandon(w *writer) {
	m.mu.Lock()
	w.loser.Store(true)
	m.mu.losers++
	m.mu.Unlock()
	m.locks.Release(w.owner) // after loser is set: who looks again must not wait
	select {
	case m.losers <- struct{}{}:
	default:
	}
}

// loserLoop rolls losers back, the youngest first: it is likely the smallest.
func (m *Manager) loserLoop(ctx context.Context) {
	for {
		left := false
		for _, w := range m.takeLosers() {
			err := m.rollback(ctx, w)
			if ctx.Err() != nil {
				return
			}
			if err != nil && m.dead.Load() {
				return // the process is about to end, and the next start goes on here
			}
			if err != nil {
				left = true
				m.cfg.Logger.Error("a transaction could not be rolled back, it is tried again", "id", w.id, "err", err)
				continue
			}
			m.retire(w)
		}
		var again <-chan time.Time
		if left {
			again = time.After(loserRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-m.losers:
		}
	}
}

// takeLosers lists the losers there are; only the loser loop ends them.
func (m *Manager) takeLosers() []*writer {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*writer
	for i := len(m.mu.active) - 1; i >= 0; i-- {
		if w := m.mu.active[i]; w.loser.Load() {
			list = append(list, w)
		}
	}
	return list
}
