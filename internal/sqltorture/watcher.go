package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// watcher reads all the time, and writes nothing: what must hold in every snapshot.
type watcher struct {
	client
}

// promises are queries with the one row that they must answer in every snapshot.
func promises() []struct{ text, want string } {
	union := func(columns string) string {
		text := ""
		for b := range banks {
			if b > 0 {
				text += " UNION ALL "
			}
			text += "SELECT " + columns + " FROM " + account(b*accountsPerBank).bank()
		}
		return text
	}
	total := fmt.Sprint(accounts * firstBalance)
	return []struct{ text, want string }{
		{"SELECT SUM(balance) FROM (" + union("balance") + ") AS bank", total},
		{"SELECT SUM(balance) FROM (" + union("id, balance") + ") AS bank WHERE balance > -1000000000", total},
		{"SELECT COUNT(*) FROM (" + union("owner") + ") AS bank", fmt.Sprint(accounts)},
		{"SELECT COUNT(*) FROM slot s LEFT JOIN mirror m ON m.client = s.client AND m.no = s.no AND m.seq = s.seq WHERE m.seq IS NULL", "0"},
		{"SELECT (SELECT COUNT(*) FROM slot) - (SELECT COUNT(*) FROM mirror)", "0"},
		{"SELECT COUNT(*) - COUNT(DISTINCT name) FROM claim", "0"},
		{"SELECT COUNT(code) - COUNT(DISTINCT code) FROM claim WHERE code >= 0", "0"},
		{"SELECT COUNT(*) FROM kid_cascade k LEFT JOIN parent p ON p.id = k.parent AND p.code = k.code WHERE p.id IS NULL", "0"},
		{"SELECT COUNT(*) FROM kid_null k LEFT JOIN parent p ON p.id = k.parent WHERE p.id IS NULL AND k.parent IS NOT NULL", "0"},
		{"SELECT COUNT(*) FROM kid_restrict k LEFT JOIN parent p ON p.id = k.parent WHERE p.id IS NULL", "0"},
		{"SELECT COUNT(*) FROM slot s JOIN stamp t ON t.client = s.client WHERE s.seq > t.seq", "0"},
	}
}

func (w *watcher) live(ctx context.Context) {
	for !w.over.Load() && ctx.Err() == nil {
		var err error
		switch {
		case w.link == nil:
			err = w.connect(ctx)
		case w.chance(30):
			err = w.statement(ctx)
		default:
			err = w.snapshot(ctx)
		}
		if errors.Is(err, errLost) && w.link != nil {
			w.link.close()
			w.link = nil
		}
	}
	if w.link != nil {
		w.link.close()
	}
}

// statement by itself has a snapshot of its own.
func (w *watcher) statement(ctx context.Context) error {
	all := promises()
	p := all[w.rnd.IntN(len(all))]
	_, err := w.hold(ctx, p.text, p.want)
	return passOver(err)
}

// hold asks for one row with one column.
func (w *watcher) hold(ctx context.Context, text, want string) (string, error) {
	rows, err := w.query(ctx, nil, text)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || want != "" && rows[0][0] != want {
		w.found.torn("%s: %s: %v, want %s", w.who, text, rows, want)
		return "", errAborted
	}
	return rows[0][0], nil
}

// snapshot reads the same again and again in one transaction: nothing may change, whatever others commit.
func (w *watcher) snapshot(ctx context.Context) error {
	if _, _, err := w.exec(ctx, nil, "START TRANSACTION READ ONLY"); err != nil {
		return passOver(err)
	}
	const fingerprint = "SELECT CONCAT_WS(' ', (SELECT SUM(seq) FROM stamp), (SELECT SUM(balance * id) FROM bank_a), (SELECT MAX(id) FROM ticket), " +
		"(SELECT SUM(seq) FROM slot), (SELECT COUNT(*) FROM claim), (SELECT SUM(code) FROM parent))"
	first := ""
	all := promises()
	for range 2 + w.rnd.IntN(4) {
		now, err := w.hold(ctx, fingerprint, first)
		if err != nil {
			return w.leave(ctx, err)
		}
		first = now
		p := all[w.rnd.IntN(len(all))]
		if _, err := w.hold(ctx, p.text, p.want); err != nil {
			return w.leave(ctx, err)
		}
		time.Sleep(time.Duration(w.rnd.IntN(10)) * time.Millisecond)
	}
	w.found.event("snapshots examined")
	return w.leave(ctx, nil)
}

// leave ends the transaction, whatever came of it.
func (w *watcher) leave(ctx context.Context, err error) error {
	if errors.Is(err, errLost) {
		return err
	}
	_, _, err = w.exec(ctx, nil, "COMMIT")
	return passOver(err)
}
