package server

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	regex "github.com/dolthub/go-icu-regex"
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

// VersionComment is what version_comment says, and clients show when they connect.
const VersionComment = "hearth"

// versionText is the version of MySQL that is spoken, and whose server it is: connectors read the first part and judge by it what
// they may say, mariadb-dump too.
var versionText = fmt.Sprintf("%d.%d.%d-hearth", sqlparse.ServerVersion/10000, sqlparse.ServerVersion/100%100, sqlparse.ServerVersion%100)

// variable is a system variable of the server. GMS has one set of variables for the process: where several servers run in one, as
// in tests, they are those of the last one that was started.
type variable struct {
	name    string
	value   any // at start: bool, int64, float64 or string, which is its type, too
	dynamic bool
	low     int64 // of numbers that can be set
	high    int64
	changed func(value any) error // not to block, and not to read or set variables: it runs under their lock
}

// define makes GMS's variable of it. All are global: what sessions have of their own is GMS's or package sql's.
func (v *variable) define() gms.SystemVariable {
	d := &gms.MysqlSystemVariable{Name: v.name, Scope: gms.GetMysqlScope(gms.SystemVariableScope_Global), Dynamic: v.dynamic}
	switch value := v.value.(type) {
	case bool:
		d.Type, d.Default = types.NewSystemBoolType(v.name), boolVariable(value)
	case int64:
		if !v.dynamic {
			v.low, v.high = math.MinInt64, math.MaxInt64
		}
		d.Type, d.Default = types.NewSystemIntType(v.name, v.low, v.high, false), value
	case float64:
		d.Type, d.Default = types.NewSystemDoubleType(v.name, -math.MaxFloat64, math.MaxFloat64), value
	case string:
		d.Type, d.Default = types.NewSystemStringType(v.name), value
	default:
		panic(fmt.Sprintf("BUG: variable %s has a %T", v.name, v.value))
	}
	if v.changed != nil {
		d.NotifyChanged = func(_ *gms.Context, _ gms.SystemVariableScope, set gms.SystemVarValue) error {
			return v.changed(set.Val)
		}
	}
	return d
}

func boolVariable(b bool) int8 {
	if b {
		return 1
	}
	return 0
}

// install puts what the server knows where GMS looks for it: variables, status values, tables of information_schema, functions.
func (s *Server) install() error {
	if err := s.installVariables(); err != nil {
		return err
	}
	gms.StatusVariables = statusRegistry{s}
	s.engine.Analyzer.Catalog.InfoSchema = s.newInfoSchema(s.engine.Analyzer.Catalog.InfoSchema)
	s.installFunctions()
	return nil
}

// installVariables adds the server's variables to those of GMS, with the values of the configuration, and then with those that
// SET PERSIST has left, which win, as in MySQL.
func (s *Server) installVariables() error {
	var list []gms.SystemVariable
	for _, group := range [][]variable{s.identityVariables(), s.engineVariables(), s.warmthVariables(), regexpVariables()} {
		for i := range group {
			list = append(list, group[i].define())
		}
	}
	list = append(list, s.schedulerVariable(), s.readOnlyVariable())
	list = append(list, s.slowLogVariables()...)
	gms.SystemVariables.AddSystemVariables(list)
	if err := gms.SystemVariables.AssignValues(s.cfg.variables()); err != nil {
		return fmt.Errorf("system variables: %w", err)
	}
	if err := gms.SystemVariables.AssignValues(map[string]any{
		"innodb_flush_log_at_trx_commit": flushLogAtCommit(s.cfg.Engine.Durability),
	}); err != nil {
		return fmt.Errorf("system variables: %w", err)
	}
	for name, text := range s.backend.Dict().Schema().Variables() {
		v, _, ok := gms.SystemVariables.GetGlobal(name)
		if !ok || v.IsReadOnly() {
			s.log.Warn("a persisted variable is not one that can be set; RESET PERSIST would forget it", "variable", name)
			continue
		}
		if err := gms.SystemVariables.AssignValues(map[string]any{name: text}); err != nil {
			s.log.Warn("the value of a persisted variable does not fit", "variable", name, "value", text, "err", err)
		}
	}
	return nil
}

// flushLogAtCommit is InnoDB's word for a durability.
func flushLogAtCommit(d hearth.Durability) int64 {
	if d == hearth.DurabilityProcess {
		return 2
	}
	return 1
}

// identityVariables say who answers.
func (s *Server) identityVariables() []variable {
	return []variable{
		{name: "version", value: versionText},
		{name: "version_comment", value: VersionComment},
		{name: "innodb_version", value: versionText},
		{name: "license", value: "Apache-2.0"},
		{name: "have_ssl", value: map[bool]string{true: "YES", false: "DISABLED"}[s.tls != nil]},
		{name: "have_openssl", value: map[bool]string{true: "YES", false: "DISABLED"}[s.tls != nil]},
		{name: "log_bin", value: false},
		{name: "default_storage_engine", value: "InnoDB"},
		{name: "performance_schema", value: false},
		{name: "have_query_cache", value: "NO"},
		{name: "have_profiling", value: "NO"},
	}
}

// engineVariables are InnoDB's names for how the engine is set up, as far as they say something true of it. They do not change
// while the server runs.
func (s *Server) engineVariables() []variable {
	o := s.cfg.Engine
	st := s.db.Stats()
	report := s.db.StartReport()
	return []variable{
		{name: "innodb_buffer_pool_size", value: int64(st.Pool.Frames) * hearth.PageSize},
		{name: "innodb_page_size", value: int64(hearth.PageSize)},
		{name: "innodb_redo_log_capacity", value: st.LogCapacity},
		{name: "innodb_log_buffer_size", value: orDefault(o.RingSize, hearth.DefaultRingSize)},
		{name: "innodb_flush_log_at_timeout", value: max(1, int64(o.LogFlushInterval.Seconds()))},
		{name: "innodb_file_per_table", value: true},
		{name: "innodb_doublewrite", value: true},
		{name: "innodb_flush_method", value: "O_DIRECT"},
		{name: "innodb_deadlock_detect", value: true},
		{name: "innodb_rollback_on_timeout", value: false},
		{name: "innodb_read_only", value: false},
		{name: "innodb_strict_mode", value: true},
		{name: "innodb_adaptive_hash_index", value: false},
		{name: "innodb_change_buffering", value: "none"},
		{name: "innodb_default_row_format", value: "dynamic"},
		{name: "hearth_memory", value: map[bool]string{true: "survives the process", false: "ends with the process"}[report.Survives]},
		{name: "hearth_memory_dir", value: memoryDir(&s.cfg)},
		{name: "hearth_start_kind", value: string(report.Kind)},
		{name: "hearth_start_seconds", value: report.Took.Seconds()},
		{name: "hearth_memory_limit", value: s.cfg.MemoryLimit},
		{name: "hearth_max_result_memory", value: s.cfg.MaxResultMemory},
	}
}

// regexpVariables bound what a regular expression may cost. They hold for the process, as the matcher's limits do.
func regexpVariables() []variable {
	limit := func(name string, value int64, set func(int64)) variable {
		return variable{name: name, value: value, dynamic: true, high: math.MaxInt32, changed: func(v any) error {
			set(toInt(v))
			return nil
		}}
	}
	return []variable{
		limit("regexp_time_limit", regex.DefaultTimeLimit, regex.SetTimeLimit),
		limit("regexp_stack_limit", regex.DefaultStackLimit, regex.SetStackLimit),
	}
}

// readOnlyVariable is read_only, which package sql holds statements to.
func (s *Server) readOnlyVariable() gms.SystemVariable {
	s.backend.SetReadOnly(s.cfg.ReadOnly)
	return &gms.MysqlSystemVariable{
		Name:    "read_only",
		Scope:   gms.GetMysqlScope(gms.SystemVariableScope_Global),
		Dynamic: true,
		Type:    types.NewSystemBoolType("read_only"),
		Default: boolVariable(s.cfg.ReadOnly),
		NotifyChanged: func(_ *gms.Context, _ gms.SystemVariableScope, set gms.SystemVarValue) error {
			s.backend.SetReadOnly(toInt(set.Val) != 0)
			return nil
		},
	}
}

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// inData is the path of a file of the data directory whose name a client gives. A client may choose a name, not a place.
func (s *Server) inData(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." {
		return "", fmt.Errorf("%q is no name of a file: it lies in the data directory, and a path is not taken", name)
	}
	if stem, _, _ := strings.Cut(name, "."); slices.Contains(ownFiles, strings.ToLower(stem)) {
		return "", fmt.Errorf("%q is a name that the database uses itself", name)
	}
	return filepath.Join(s.cfg.Data, name), nil
}

// ownFiles are names in the data directory, without what is behind a dot.
var ownFiles = []string{"control", "lock", "log", "spaces", "doublewrite", "heat", filesDir}
