package sqlparse

import (
	"context"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

func (p *parsed) rewriteBefore(ctx context.Context, o ast.ParserOptions) (bool, error) {
	return false, nil
}
func (p *parsed) rewriteAfter(ctx context.Context, o ast.ParserOptions) bool { return false }
