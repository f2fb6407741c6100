package sql

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// PlainAccount is an account as lists show it, root@localhost, of one as it is quoted in a statement.
func PlainAccount(quoted string) string {
	user, host, ok := strings.Cut(quoted, "`@`")
	if !ok {
		return quoted
	}
	return strings.TrimPrefix(user, "`") + "@" + strings.TrimSuffix(host, "`")
}

// showEvents are the rows of SHOW EVENTS. GMS shows definers quoted.
func showEvents(ctx *gms.Context, n *plan.ShowEvents) ([]gms.Row, error) {
	iter, err := n.RowIter(ctx, nil)
	if err != nil {
		return nil, err
	}
	rows, err := gms.RowIterToRows(ctx, iter)
	definer := n.Schema().IndexOfColName("Definer")
	for _, row := range rows {
		row[definer] = PlainAccount(row[definer].(string))
	}
	return rows, err
}
