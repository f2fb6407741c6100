package server

import (
	"sort"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// erWrongValueForVar is ER_WRONG_VALUE_FOR_VAR.
const erWrongValueForVar = 1231

// firstOf asks builders in turn.
type firstOf []gms.NodeExecBuilder

// Build implements gms.NodeExecBuilder.
func (list firstOf) Build(ctx *gms.Context, n gms.Node, row gms.Row) (gms.RowIter, error) {
	for _, b := range list {
		if rows, err := b.Build(ctx, n, row); rows != nil || err != nil {
			return rows, err
		}
	}
	return nil, nil
}

// shows builds the nodes of SHOW VARIABLES, SHOW STATUS and SHOW WARNINGS. GMS's own print booleans as numbers, sets of globals as
// bits, for a session the status of the whole server, and the last warning first.
type shows struct{ server *Server }

// Build implements gms.NodeExecBuilder: nil for other nodes.
func (b shows) Build(ctx *gms.Context, n gms.Node, _ gms.Row) (gms.RowIter, error) {
	switch n := n.(type) {
	case *plan.ShowVariables:
		return showVariables(ctx, n)
	case plan.ShowWarnings: // GMS's order is the most recent first
		list := make([]gms.Row, len(n))
		for i, w := range n {
			list[len(n)-1-i] = gms.NewRow(w.Level, w.Code, w.Message)
		}
		return gms.RowsToRowIter(list...), nil
	case *plan.ShowStatus:
		if *n == *plan.NewShowStatus(true) {
			return rowsOf(b.server.statusRows(nil)), nil
		}
		return rowsOf(b.server.statusRows(ctx.Session)), nil
	}
	return nil, nil
}

func showVariables(ctx *gms.Context, n *plan.ShowVariables) (gms.RowIter, error) {
	var rows []gms.Row
	for name, text := range variableTexts(ctx, n.Global) {
		if n.Filter != nil {
			v, err := n.Filter.Eval(ctx, gms.Row{name})
			if err != nil {
				return nil, err
			}
			if v, _, err = types.Boolean.Convert(ctx, v); err != nil || v == nil || v.(int8) == 0 {
				continue
			}
		}
		rows = append(rows, gms.Row{name, text})
	}
	return rowsOf(rows), nil
}

// variableTexts are all variables as SHOW prints them, those of the session or the global ones.
func variableTexts(ctx *gms.Context, global bool) map[string]string {
	texts := map[string]string{}
	for name, value := range ctx.GetAllSessionVariables() {
		v, current, ok := gms.SystemVariables.GetGlobal(name)
		if !ok {
			continue
		}
		if global || v.IsGlobalOnly() {
			value = current
		}
		texts[name] = variableText(ctx, v, value)
	}
	return texts
}

func variableText(ctx *gms.Context, v gms.SystemVariable, value any) string {
	if value == nil {
		return ""
	}
	if _, is := v.GetType().(types.SystemBoolType); is {
		if toInt(value) != 0 {
			return "ON"
		}
		return "OFF"
	}
	if set, is := v.GetType().(gms.SetType); is {
		if bits, ok := value.(uint64); ok {
			if text, err := set.BitsToString(bits); err == nil {
				return text
			}
		}
	}
	text, _, err := types.LongText.Convert(ctx, value)
	if err != nil || text == nil {
		return ""
	}
	s, _ := text.(string)
	return s
}

// rowsOf sorts rows by their first column, a name.
func rowsOf(rows []gms.Row) gms.RowIter {
	sort.Slice(rows, func(i, j int) bool { return rows[i][0].(string) < rows[j][0].(string) })
	return gms.RowsToRowIter(rows...)
}
