package server

import (
	"fmt"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
)

// States of event_scheduler, in MySQL's order: SET GLOBAL event_scheduler = 1 is ON.
const (
	schedulerOff      = "OFF"
	schedulerOn       = "ON"
	schedulerDisabled = "DISABLED" // only at start; then it stays
)

// schedulerVariable is event_scheduler. GMS's own switches nothing.
func (s *Server) schedulerVariable() gms.SystemVariable {
	return &gms.MysqlSystemVariable{
		Name:    "event_scheduler",
		Scope:   gms.GetMysqlScope(gms.SystemVariableScope_Global),
		Dynamic: true,
		Type:    types.NewSystemEnumType("event_scheduler", schedulerOff, schedulerOn, schedulerDisabled),
		Default: s.cfg.EventScheduler,
		NotifyChanged: func(_ *gms.Context, _ gms.SystemVariableScope, set gms.SystemVarValue) error {
			return s.setScheduler(fmt.Sprint(set.Val))
		},
	}
}

func (s *Server) setScheduler(value string) error {
	switch value = strings.ToUpper(value); {
	case s.cfg.EventScheduler == schedulerDisabled:
		return sqlError(mysql.EROptionPreventsStatement, stateUnknown,
			"The MySQL server is running with the --event-scheduler=DISABLED option so it cannot execute this statement")
	case value == schedulerDisabled:
		return sqlError(mysql.ERWrongValueForVar, stateSyntaxOrAccess, "Variable 'event_scheduler' can't be set to the value of 'DISABLED'")
	}
	s.events.set(value == schedulerOn)
	return nil
}
