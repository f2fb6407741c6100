package server

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// slowLog says which statements are logged and where. A statement looks at it without a lock.
type slowLog struct {
	file *slowFile
	on   atomic.Bool // entries are made

	longest  atomic.Int64  // global long_query_time, in ns
	examined atomic.Uint64 // global min_examined_row_limit
	control  atomic.Uint32 // what slow_query_log_use_global_control names

	mu      sync.Mutex
	begun   bool   // the settings are complete
	enabled bool   // slow_query_log
	output  bool   // log_output has FILE
	path    string // slow_query_log_file, whole
}

// Bits of slowLog.control.
const (
	globalTime uint32 = 1 << iota
	globalRows
)

const (
	defaultLongQueryTime = 10.0       // seconds
	maxLongQueryTime     = 31_536_000 // seconds, MySQL's
	slowLogSuffix        = ".log"
)

// slowLogVariables are MySQL's, and one of Percona's: sessions begin with the global long_query_time and keep what they have, pools of
// connections for days. slow_query_log_use_global_control makes the global value hold for all.
func (s *Server) slowLogVariables() []gms.SystemVariable {
	l := s.slow
	l.enabled, l.output, l.path = s.cfg.SlowLog, true, s.cfg.SlowLogFile
	seconds := s.cfg.LongQueryTime.Seconds()
	l.longest.Store(int64(s.cfg.LongQueryTime))
	global := func(v variable) gms.SystemVariable { return v.define() }
	return []gms.SystemVariable{
		global(variable{name: "slow_query_log", value: s.cfg.SlowLog, dynamic: true, changed: l.change(func(v any) error {
			l.enabled = toInt(v) != 0
			return nil
		})}),
		global(variable{name: "slow_query_log_file", value: s.cfg.SlowLogFile, dynamic: true, changed: l.change(func(v any) (err error) {
			name, _ := v.(string)
			l.path, err = s.slowLogPath(name)
			return err
		})}),
		global(variable{name: "slow_query_log_use_global_control", value: "", dynamic: true, changed: l.setControl}),
		&gms.MysqlSystemVariable{
			Name: "log_output", Dynamic: true, Scope: gms.GetMysqlScope(gms.SystemVariableScope_Global), Default: "FILE",
			Type: types.NewSystemSetType("log_output", gms.Collation_utf8mb4_0900_ai_ci, "TABLE", "FILE", "NONE"),
			NotifyChanged: func(_ *gms.Context, _ gms.SystemVariableScope, v gms.SystemVarValue) error {
				return l.change(func(value any) error {
					text := fmt.Sprint(value)
					if bits, ok := value.(uint64); ok {
						text, _ = v.Var.GetType().(gms.SetType).BitsToString(bits)
					}
					l.output = strings.EqualFold(text, "FILE") // NONE beside it wins, as in MySQL
					if strings.Contains(strings.ToUpper(text), "TABLE") {
						return sqlError(erWrongValueForVar, stateSyntaxOrAccess, "Variable 'log_output' can't be set to the value of 'TABLE': there are no tables of logs")
					}
					return nil
				})(v.Val)
			},
		},
		&gms.MysqlSystemVariable{
			Name: "long_query_time", Dynamic: true, Scope: gms.GetMysqlScope(gms.SystemVariableScope_Both), Default: seconds,
			Type: types.NewSystemDoubleType("long_query_time", 0, maxLongQueryTime),
			NotifyChanged: func(_ *gms.Context, scope gms.SystemVariableScope, v gms.SystemVarValue) error {
				if scope.IsGlobalOnly() {
					l.longest.Store(int64(queryTime(v.Val)))
				}
				return nil
			},
		},
		&gms.MysqlSystemVariable{
			Name: "min_examined_row_limit", Dynamic: true, Scope: gms.GetMysqlScope(gms.SystemVariableScope_Both), Default: uint64(0),
			Type: types.NewSystemUintType("min_examined_row_limit", 0, math.MaxUint64),
			NotifyChanged: func(_ *gms.Context, scope gms.SystemVariableScope, v gms.SystemVarValue) error {
				if n, ok := v.Val.(uint64); ok && scope.IsGlobalOnly() {
					l.examined.Store(n)
				}
				return nil
			},
		},
	}
}

// queryTime is a value of long_query_time, to the microsecond.
func queryTime(v any) time.Duration {
	seconds, ok := v.(float64)
	if !ok {
		return defaultLongQueryTime * time.Second
	}
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// change is what a variable does that says whether there is a log, and where.
func (l *slowLog) change(set func(value any) error) func(any) error {
	return func(value any) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		enabled, output, path := l.enabled, l.output, l.path
		err := set(value)
		if err == nil {
			err = l.apply()
		}
		if err != nil {
			l.enabled, l.output, l.path = enabled, output, path
		}
		return err
	}
}

// apply opens the file the settings name, or closes it. It waits for no entry. The caller holds mu.
func (l *slowLog) apply() error {
	if !l.begun {
		return nil
	}
	if !l.enabled || !l.output {
		if l.on.Swap(false) {
			l.file.turnTo(nil)
		}
		return nil
	}
	file, err := openSlowFile(l.path)
	if err != nil {
		return sqlError(erCantCreateFile, stateUnknown, fmt.Sprintf("Can't create file '%s' (%v)", l.path, err))
	}
	l.file.turnTo(file)
	l.on.Store(true)
	return nil
}

// begin opens the log as configured and persisted. A server whose log cannot be opened serves all the same.
func (l *slowLog) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	return l.apply()
}

// FlushSlowLog opens the file of the slow query log again, by its name: who has renamed it gets a new one. When it returns, what was
// logged before is in the old one.
func (s *Server) FlushSlowLog(ctx context.Context) error {
	l := s.slow
	l.mu.Lock()
	if !l.on.Load() {
		l.mu.Unlock()
		return nil
	}
	file, err := openSlowFile(l.path)
	if err != nil {
		l.mu.Unlock()
		return sqlError(erCantCreateFile, stateUnknown, fmt.Sprintf("Can't create file '%s' (%v)", l.path, err))
	}
	passed := l.file.turnTo(file)
	l.mu.Unlock()
	return await(ctx, passed)
}

// flushLogs is what the parser makes FLUSH LOGS and FLUSH SLOW LOGS of: a CALL of a procedure that there is none of.
const flushLogs = "hearth_flush_logs"

func flushesLogs(stmt ast.Statement) bool {
	call, ok := stmt.(*ast.Call)
	return ok && call.ProcName.Name.EqualString(flushLogs)
}

func (cl *client) flushLogs(sc *gms.Context) error {
	if !cl.server.users.UserHasPrivileges(sc, gms.NewPrivilegedOperation(gms.PrivilegeCheckSubject{}, gms.PrivilegeType_Reload)) {
		return sqlError(mysql.ERSpecifiedAccessDenied, stateSyntaxOrAccess,
			"Access denied; you need (at least one of) the RELOAD privilege(s) for this operation")
	}
	if err := cl.session.CommitImplicit(sc); err != nil { // as MySQL does
		return err
	}
	return cl.server.FlushSlowLog(sc)
}

func (l *slowLog) setControl(value any) error {
	text, _ := value.(string)
	var bits uint32
	for name := range strings.SplitSeq(strings.ToLower(text), ",") {
		switch name {
		case "", "none":
		case "long_query_time":
			bits |= globalTime
		case "min_examined_row_limit":
			bits |= globalRows
		case "all":
			bits |= globalTime | globalRows
		default:
			return sqlError(erWrongValueForVar, stateSyntaxOrAccess,
				fmt.Sprintf("Variable 'slow_query_log_use_global_control' can't be set to the value of '%s'", text))
		}
	}
	l.control.Store(bits)
	return nil
}

// slowLogPath is the path of a log that a client names. He may choose a name in the data directory or beside the log of the
// configuration; that it ends as names of logs do keeps him from all other files there.
func (s *Server) slowLogPath(name string) (string, error) {
	if name == s.cfg.SlowLogFile {
		return name, nil
	}
	path := filepath.Clean(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.cfg.Data, path)
	}
	dir, base := filepath.Split(path)
	if dir = filepath.Clean(dir); dir != s.cfg.Data && dir != filepath.Dir(s.cfg.SlowLogFile) ||
		!strings.HasSuffix(base, slowLogSuffix) || base == slowLogSuffix || strings.ContainsRune(name, 0) {
		return "", sqlError(erWrongValueForVar, stateSyntaxOrAccess, fmt.Sprintf(
			"Variable 'slow_query_log_file' can't be set to the value of '%s': want a name that ends in %s, in the data directory or beside the log of the configuration",
			name, slowLogSuffix))
	}
	return path, nil
}

// defaultSlowLogFile is MySQL's: named after the machine, in the data directory.
func defaultSlowLogFile(data string) string {
	host, err := os.Hostname()
	if err != nil || host == "" || strings.ContainsAny(host, "/\x00") {
		host = "hearth"
	}
	return filepath.Join(data, host+"-slow"+slowLogSuffix)
}

// slowVars are a session's variables about the log.
type slowVars struct {
	time     time.Duration // long_query_time
	examined uint64        // min_examined_row_limit
}

func (cl *client) slowVars(ctx *gms.Context) (v slowVars) {
	v.time = defaultLongQueryTime * time.Second
	if t, err := cl.session.GetSessionVariable(ctx, "long_query_time"); err == nil {
		v.time = queryTime(t)
	}
	if n, err := cl.session.GetSessionVariable(ctx, "min_examined_row_limit"); err == nil {
		v.examined, _ = n.(uint64)
	}
	return v
}

// slow says whether a statement is one, by the session's settings or the global ones.
func (l *slowLog) slow(v slowVars, took time.Duration, examined uint64) bool {
	if bits := l.control.Load(); bits != 0 {
		if bits&globalTime != 0 {
			v.time = time.Duration(l.longest.Load())
		}
		if bits&globalRows != 0 {
			v.examined = l.examined.Load()
		}
	}
	return took >= v.time && examined >= v.examined
}

// slowScratch is what a connection makes entries with.
type slowScratch struct {
	entry   slowlog.Entry
	bytes   []byte
	text    []byte
	metrics [2]slowlog.Metric
}

// maxSlowScratch is how many bytes a connection keeps for its next entries.
const maxSlowScratch = 64 << 10

// logged is what the log has of one statement or command.
type logged struct {
	kind     slowlog.Kind
	began    time.Time
	took     time.Duration
	schema   string
	prepared *command // text with values to fill in; nil: text is whole
	text     string
	lockWait time.Duration
	sent     uint64
	examined uint64
	affected uint64
	insertID uint64
	pages    int64
	told     *mysql.SQLError // nil: it succeeded
}

// logEntry hands an entry to the log.
func (cl *client) logEntry(r *logged) {
	if cl.slow == nil {
		cl.slow = new(slowScratch)
	}
	x := cl.slow
	x.text = x.text[:0]
	if r.prepared != nil {
		x.text = appendFilled(x.text, r.text, r.prepared.values)
	} else {
		x.text = append(x.text, r.text...)
	}
	user, host, ip := cl.logName()
	x.metrics = [...]slowlog.Metric{{Key: "Killed"}, {Key: "Pages_read", Value: r.pages}}
	x.entry = slowlog.Entry{
		Kind: r.kind, Text: x.text, Schema: append(x.entry.Schema[:0], r.schema...), SchemaKnown: true,
		User: append(x.entry.User[:0], user...), Host: append(x.entry.Host[:0], host...), IP: append(x.entry.IP[:0], ip...),
		ThreadID: uint64(cl.id), HasThreadID: true,
		Started: r.began, Ended: r.began.Add(r.took), Timestamp: r.began.Unix(), HasTimestamp: true,
		InsertID: r.insertID, HasInsertID: r.insertID != 0,
		HasQueryTime: true, QueryTime: r.took, LockTime: r.lockWait, RowsSent: r.sent, RowsExamined: r.examined, RowsAffected: r.affected,
		Metrics: x.metrics[:],
	}
	if r.told != nil {
		x.entry.Errno = uint32(r.told.Num)
		if r.told.Num == errInterrupted.Num || r.told.Num == errTimeout.Num {
			x.metrics[0].Value = int64(r.told.Num)
		}
	}
	x.bytes = slowlog.AppendEntry(x.bytes[:0], &x.entry, true)
	if cl.server.slow.file.add(x.bytes) || cap(x.bytes) > maxSlowScratch {
		x.bytes = nil
	}
	if cap(x.text) > maxSlowScratch {
		x.text = nil
	}
}

// logName is who the client is, as the log has it: over a unix socket there is no address, and names of hosts are not looked up.
func (cl *client) logName() (user, host, ip string) {
	cl.mu.Lock()
	user = cl.mu.user
	cl.mu.Unlock()
	if cl.wire.local {
		return user, "localhost", ""
	}
	host, _, err := net.SplitHostPort(cl.peer())
	if err != nil {
		return user, "", ""
	}
	return user, "", host
}

// logStatement logs a statement that has ended, if it is to be.
func (cl *client) logStatement(st *statement, cmd *command, at *place, out *result, told *mysql.SQLError) {
	l := cl.server.slow
	took, examined := time.Since(st.began), cl.session.RowsExamined()
	if !l.slow(cl.vars.slow, took, examined) {
		return
	}
	cl.counters.slow.Add(1)
	if !l.on.Load() || administers(st.kind) && globalInt("log_slow_admin_statements") == 0 {
		return
	}
	r := logged{
		kind: slowlog.Query, began: st.began, took: took, schema: at.db, text: strings.TrimRight(strings.TrimLeft(st.said, " \t\r\n"), " \t\r\n;"),
		lockWait: cl.session.LockWait() + st.spent.LockWait(), sent: st.sent, examined: examined, pages: st.spent.PagesRead(), told: told,
	}
	switch {
	case cmd.admin != "":
		r.kind, r.text, r.schema = slowlog.Admin, cmd.admin, cl.session.GetCurrentDatabase()
	case r.text == "":
		r.kind = slowlog.Empty
	case cmd.prepared != nil && len(cmd.values) > 0:
		r.prepared = cmd
	default:
		r.text = withoutSecrets(r.text, st.kind)
	}
	if out != nil && out.whole != nil && told == nil {
		r.affected, r.insertID = out.whole.RowsAffected, out.whole.InsertID
	}
	cl.logEntry(&r)
}

// administers: a statement that log_slow_admin_statements is about.
func administers(kind comKind) bool {
	switch kind {
	case comAlterTable, comAnalyze, comCreateIndex, comDropIndex:
		return true
	}
	return false
}

// logCommand logs a command of the protocol that is no statement.
func (cl *client) logCommand(name string, began time.Time, told *mysql.SQLError) {
	l := cl.server.slow
	took := time.Since(began)
	if cl.session == nil || !l.slow(cl.vars.slow, took, 0) {
		return
	}
	cl.counters.slow.Add(1)
	if l.on.Load() {
		cl.logEntry(&logged{kind: slowlog.Admin, began: began, took: took, schema: cl.session.GetCurrentDatabase(), text: name, told: told})
	}
}
