package sql

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
)

// Bounds and defaults of innodb_lock_wait_timeout, in seconds.
const (
	defaultLockWaitSec = 50
	maxLockWaitSec     = 1 << 30
)

// Values of transaction_isolation.
const (
	readUncommitted = "READ-UNCOMMITTED"
	readCommitted   = "READ-COMMITTED"
	repeatableRead  = "REPEATABLE-READ"
	serializable    = "SERIALIZABLE"
)

// settings are the variables of a session that transactions read, with their types: they are looked up when one is set and not
// when one is needed.
type settings struct {
	autocommit   bool
	isolation    string
	readOnly     bool
	lockWait     time.Duration // of row locks
	metadataWait time.Duration // of metadata locks
	autoStep     uint64        // auto_increment_increment
	autoOffset   uint64        // auto_increment_offset
	fake         bool          // innodb_fake_changes
}

// watched are the variables that settings are made of.
var watched = map[string]bool{
	gms.AutoCommitSessionVar:   true,
	"auto_increment_increment": true,
	"auto_increment_offset":    true,
	"transaction_isolation":    true,
	"tx_isolation":             true,
	"transaction_read_only":    true,
	"tx_read_only":             true,
	"innodb_lock_wait_timeout": true,
	"lock_wait_timeout":        true,
	fakeVariable:               true,
}

// aliases: MySQL has two names for these; GMS keeps two values.
var aliases = map[string]string{
	"tx_isolation": "transaction_isolation", "transaction_isolation": "tx_isolation",
	"tx_read_only": "transaction_read_only", "transaction_read_only": "tx_read_only",
}

func (s *Session) readSettings(ctx *gms.Context) {
	s.settings = settings{
		autocommit:   s.intVariable(ctx, gms.AutoCommitSessionVar, 1) != 0,
		isolation:    s.isolationVariable(ctx),
		readOnly:     s.intVariable(ctx, "transaction_read_only", 0) != 0,
		lockWait:     time.Duration(s.intVariable(ctx, "innodb_lock_wait_timeout", defaultLockWaitSec)) * time.Second,
		autoStep:     uint64(max(s.intVariable(ctx, "auto_increment_increment", 1), 1)),
		autoOffset:   uint64(max(s.intVariable(ctx, "auto_increment_offset", 1), 1)),
		fake:         s.intVariable(ctx, fakeVariable, 0) != 0,
		metadataWait: time.Duration(s.intVariable(ctx, "lock_wait_timeout", 31536000)) * time.Second,
	}
}

func (s *Session) isolationVariable(ctx *gms.Context) string {
	v, err := s.BaseSession.GetSessionVariable(ctx, "transaction_isolation")
	if name, ok := v.(string); err == nil && ok {
		return strings.ToUpper(name)
	}
	return repeatableRead
}

func (s *Session) intVariable(ctx *gms.Context, name string, otherwise int64) int64 {
	v, err := s.BaseSession.GetSessionVariable(ctx, name)
	if err != nil {
		return otherwise
	}
	n, _, err := types.Int64.Convert(ctx, v)
	if err != nil || n == nil {
		return otherwise
	}
	return n.(int64)
}

// SetSessionVariable implements gms.Session.
func (s *Session) SetSessionVariable(ctx *gms.Context, name string, value any) error {
	if strings.EqualFold(name, fakeVariable) {
		if err := s.mayToggle(); err != nil {
			return err
		}
	}
	if err := s.BaseSession.SetSessionVariable(ctx, name, value); err != nil {
		return err
	}
	return s.variableSet(ctx, strings.ToLower(name), value)
}

// InitSessionVariable implements gms.Session.
func (s *Session) InitSessionVariable(ctx *gms.Context, name string, value any) error {
	if err := s.BaseSession.InitSessionVariable(ctx, name, value); err != nil {
		return err
	}
	return s.variableSet(ctx, strings.ToLower(name), value)
}

func (s *Session) variableSet(ctx *gms.Context, name string, value any) error {
	if !watched[name] {
		return nil
	}
	if other, ok := aliases[name]; ok {
		if err := s.BaseSession.SetSessionVariable(ctx, other, value); err != nil {
			return err
		}
	}
	s.readSettings(ctx)
	return nil
}

// flushLog is innodb_flush_log_at_trx_commit of the process, -1 while nobody has set it.
var flushLog atomic.Int64

// durability of transactions that begin now. As long as nobody sets the variable, the database's options decide.
func durability() hearth.Durability {
	switch flushLog.Load() {
	case -1:
		return hearth.DurabilityDefault
	case 1:
		return hearth.DurabilityCommit
	default:
		return hearth.DurabilityProcess
	}
}

var defineOnce sync.Once

// defineVariables adds the variables that transactions read to those of GMS, or replaces GMS's own, and sets the defaults of
// MySQL 8 for collations. GMS has one set of variables for the process; sessions copy it, so it must be complete before the
// first one.
func defineVariables() (err error) {
	defineOnce.Do(func() {
		flushLog.Store(-1)
		gms.SystemVariables.AddSystemVariables([]gms.SystemVariable{
			&gms.MysqlSystemVariable{
				Name:    "innodb_lock_wait_timeout",
				Scope:   gms.GetMysqlScope(gms.SystemVariableScope_Both),
				Dynamic: true,
				Type:    types.NewSystemIntType("innodb_lock_wait_timeout", 1, maxLockWaitSec, false),
				Default: int64(defaultLockWaitSec),
			},
			&gms.MysqlSystemVariable{
				Name:    fakeVariable,
				Scope:   gms.GetMysqlScope(gms.SystemVariableScope_Session),
				Dynamic: true,
				Type:    types.NewSystemBoolType(fakeVariable),
				Default: int8(0),
			},
			&gms.MysqlSystemVariable{
				Name:    "innodb_flush_log_at_trx_commit",
				Scope:   gms.GetMysqlScope(gms.SystemVariableScope_Global),
				Dynamic: true,
				Type:    types.NewSystemIntType("innodb_flush_log_at_trx_commit", 0, 2, false),
				Default: int64(1),
				NotifyChanged: func(_ *gms.Context, _ gms.SystemVariableScope, v gms.SystemVarValue) error {
					if n, ok := v.Val.(int64); ok {
						flushLog.Store(n)
					}
					return nil
				},
			},
		})
		err = gms.SystemVariables.AssignValues(map[string]any{
			"collation_connection": "utf8mb4_0900_ai_ci",
			"collation_server":     "utf8mb4_0900_ai_ci",
			"collation_database":   "utf8mb4_0900_ai_ci",
		})
	})
	return err
}
