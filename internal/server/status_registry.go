package server

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// statusRegistry takes the place of GMS's own registry of status values, of which almost all are zero for ever. Sessions keep
// none (what is counted for them, client.counters has), which saves each of them 289 counters.
type statusRegistry struct{ server *Server }

var _ gms.StatusVariableRegistry = statusRegistry{}

// NewSessionMap implements gms.StatusVariableRegistry.
func (statusRegistry) NewSessionMap() map[string]gms.StatusVarValue { return nil }

// NewGlobalMap implements gms.StatusVariableRegistry.
func (r statusRegistry) NewGlobalMap() map[string]gms.StatusVarValue {
	m := map[string]gms.StatusVarValue{}
	for _, row := range r.server.statusRows(nil) {
		name := row[0].(string)
		m[name] = &gms.ImmutableStatusVarValue{Var: statusVariable(name), Val: row[1]}
	}
	return m
}

// GetGlobal implements gms.StatusVariableRegistry.
func (r statusRegistry) GetGlobal(name string) (gms.StatusVariable, any, bool) {
	for _, row := range r.server.statusRows(nil) {
		if row[0] == name {
			return statusVariable(name), row[1], true
		}
	}
	return nil, nil, false
}

// SetGlobal implements gms.StatusVariableRegistry: values come from where things happen.
func (statusRegistry) SetGlobal(string, any) error { return nil }

// IncrementGlobal implements gms.StatusVariableRegistry.
func (statusRegistry) IncrementGlobal(string, int) {}

func statusVariable(name string) gms.StatusVariable {
	return &gms.MySQLStatusVariable{Name: name, Scope: gms.StatusVariableScope_Global, Type: types.LongText, Default: ""}
}
