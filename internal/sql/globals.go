package sql

import (
	"maps"
	"strings"
	"sync/atomic"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// GetSessionVariable implements gms.Session. A session has copies of all variables, made at its begin; one that is global only,
// which SET GLOBAL may have set since, has one value for all.
func (s *Session) GetSessionVariable(ctx *gms.Context, name string) (any, error) {
	if globalOnly(name) {
		if _, v, ok := gms.SystemVariables.GetGlobal(name); ok {
			return v, nil
		}
	}
	return s.BaseSession.GetSessionVariable(ctx, name)
}

// scopes remembers of variables, by lower-case name, whether they are global only: the registry is behind a lock, and some variables
// are read several times by each statement.
var scopes atomic.Pointer[map[string]bool]

func globalOnly(name string) bool {
	name = strings.ToLower(name)
	known := scopes.Load()
	if known != nil {
		if global, ok := (*known)[name]; ok {
			return global
		}
	}
	v, _, ok := gms.SystemVariables.GetGlobal(name)
	if !ok { // not remembered: there is no end of names that are none
		return false
	}
	next := map[string]bool{name: v.IsGlobalOnly()}
	if known != nil {
		maps.Copy(next, *known)
	}
	scopes.CompareAndSwap(known, &next) // whoever loses looks it up once more
	return v.IsGlobalOnly()
}
