package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// probe asks the unique indexes themselves: what is taken is refused, what is free is not. It takes everything back.
func probe(ctx context.Context, l *link, s *seen, found *findings) error {
	names, codes := map[string]bool{}, map[string]bool{}
	for _, value := range s.rows[claims] {
		name, code, _ := strings.Cut(value, " ")
		names[name], codes[code] = true, true
	}
	if _, err := l.conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return err
	}
	try := func(what string, n int, taken bool, text string, args ...any) error {
		_, err := l.conn.ExecContext(ctx, text, args...)
		switch {
		case err == nil && taken:
			found.duplicate("claim: %s %d is taken, and was given again", what, n)
		case err != nil && !taken && number(err) == erDuplicate:
			found.torn("claim: %s %d is free, and was refused: %v", what, n, err)
		case err != nil && number(err) != erDuplicate:
			return fmt.Errorf("%s: %w", text, err)
		}
		return nil
	}
	const insert = "INSERT INTO claim (id, name, code) VALUES (?, ?, ?)"
	key := rowKey(maxClients, 0)
	for n := range claimNames {
		key++
		if err := try("name", n, names[fmt.Sprint(n)], insert, key, claimName(n, n), nil); err != nil {
			return err
		}
	}
	for n := range claimCodes {
		key++
		if err := try("code", n, codes[fmt.Sprint(n)], insert, key, fmt.Sprintf("probe %d", n), n); err != nil {
			return err
		}
	}
	_, err := l.conn.ExecContext(ctx, "ROLLBACK")
	return errors.Join(err, ctx.Err())
}
