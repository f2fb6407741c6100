package replay

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Limits of one statement on the target.
type Limits struct {
	Time  time.Duration // the server ends it by its own means; the connection is cut a little later
	Rows  int64         // read and thrown away; then the connection is cut
	Bytes int64
}

// patience with an answer: the server's own limit comes first.
func (l Limits) patience() time.Duration { return l.Time + 5*time.Second }

// writePatience is how long the target may take to read a statement.
const writePatience = 10 * time.Second

// DefaultLimits leave an ordinary statement alone.
var DefaultLimits = Limits{Time: 10 * time.Second, Rows: 1_000_000, Bytes: 256 << 20}

// Writes says what becomes of changes.
type Writes string

// What may become of changes.
const (
	WritesRewrite Writes = "rewrite" // reads of the pages they would touch
	WritesSkip    Writes = "skip"
	WritesFake    Writes = "fake" // sent as they are in sessions with innodb_fake_changes=1, where the server has it
)

// TargetConfig says where statements go and what must hold there.
type TargetConfig struct {
	DSN          string // of the Go driver: user:password@tcp(host:port)/schema
	Source       string // DSN of the server the log is from, to prove that it is another one; may be empty
	Limits       Limits
	Writes       Writes
	SessionInit  string // one SET, run on every connection
	MayWrite     bool   // go on although the server is not read_only
	AccountWrite bool   // go on although the account could change something
}

// Identity is how a server is told from another one.
type Identity struct {
	UUID string // server_uuid, empty where there is none
	Name string // hostname:port/server_id/datadir
}

func (i Identity) String() string { return strings.TrimPrefix(i.UUID+" "+i.Name, " ") }

// target makes connections that cannot change anything.
type target struct {
	cfg       TargetConfig
	connector driver.Connector
	schema    string  // default schema of the connections
	db        *sql.DB // of our own questions

	mariadb   bool
	variables map[string]string // those we asked for and the server has
	baseModes string
	base      Mode
	identity  Identity
	maxText   int // bytes of a statement
	fake      bool
	setup     []string
}

// quiet drops what the driver logs about lost connections: they are counted.
type quiet struct{}

func (quiet) Print(...any) {}

// RefusedError says why a target is not replayed to.
type RefusedError struct{ Why, Do string }

func (e *RefusedError) Error() string { return "the target is refused: " + e.Why + " (" + e.Do + ")" }

func parseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("data source name: %w (want user:password@tcp(host:port)/schema)", err)
	}
	cfg.Logger = quiet{}
	cfg.MultiStatements, cfg.AllowAllFiles, cfg.AllowFallbackToPlaintext = false, false, false // rule 3
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	return cfg, nil
}

// openTarget asks the server who it is, and refuses one that could be changed (layers 5 and 6).
func openTarget(ctx context.Context, c TargetConfig) (*target, error) {
	cfg, err := parseDSN(c.DSN)
	if err != nil {
		return nil, err
	}
	t := &target{cfg: c, schema: cfg.DBName}
	own := cfg.Clone()
	own.InterpolateParams = true
	own.ReadTimeout, own.WriteTimeout = 5*time.Second, 5*time.Second
	conn, err := mysql.NewConnector(own)
	if err != nil {
		return nil, err
	}
	t.db = sql.OpenDB(conn)
	t.db.SetMaxOpenConns(4)
	fail := func(err error) (*target, error) { t.db.Close(); return nil, err }
	if err := t.ask(ctx); err != nil {
		return fail(fmt.Errorf("ask the target: %w", err))
	}
	if err := t.refuse(ctx); err != nil {
		return fail(err)
	}
	play := cfg.Clone()
	play.ReadTimeout = c.Limits.patience()
	play.WriteTimeout = writePatience
	play.DialFunc = tapDial
	if t.connector, err = mysql.NewConnector(play); err != nil {
		return fail(err)
	}
	return t, nil
}

// wanted are the variables that the layers stand on, under all their names.
var wanted = []string{
	"version", "version_comment", "read_only", "super_read_only", "innodb_read_only", "sql_mode", "server_uuid", "hostname", "port",
	"server_id", "datadir", "max_execution_time", "max_statement_time", "lock_wait_timeout", "innodb_lock_wait_timeout", "tx_read_only",
	"transaction_read_only", "innodb_fake_changes", "max_allowed_packet",
}

func (t *target) ask(ctx context.Context) error {
	var err error
	if t.variables, err = readVariables(ctx, t.db, wanted); err != nil {
		return err
	}
	t.mariadb = strings.Contains(t.variables["version"], "MariaDB")
	t.identity = identityOf(t.variables)
	var modes []string
	for _, m := range strings.Split(strings.ToUpper(t.variables["sql_mode"]), ",") {
		if slices.Contains(sqlModes, m) {
			modes = append(modes, m)
		}
	}
	t.baseModes = strings.Join(modes, ",")
	t.base = ModeOf(t.baseModes)
	t.maxText = math.MaxInt
	if n, err := strconv.Atoi(t.variables["max_allowed_packet"]); err == nil && n > 1 {
		t.maxText = n - 1
	}
	_, t.fake = t.variables["innodb_fake_changes"]
	t.fake = t.fake && t.cfg.Writes == WritesFake
	t.setup = t.layers()
	return nil
}

// layers are the statements that make a session harmless (rule 4). A session with fake changes cannot be READ ONLY: there the
// mode is the layer, and a server that has it promises that nothing is changed.
func (t *target) layers() (list []string) {
	sets := []string{"autocommit=1", "sql_mode='" + t.baseModes + "'"}
	ms := max(1, t.cfg.Limits.Time.Milliseconds())
	if _, ok := t.variables["max_statement_time"]; ok && t.mariadb {
		sets = append(sets, fmt.Sprintf("max_statement_time=%d.%03d", ms/1000, ms%1000))
	} else if _, ok := t.variables["max_execution_time"]; ok {
		sets = append(sets, "max_execution_time="+strconv.FormatInt(ms, 10))
	}
	for _, v := range []string{"lock_wait_timeout", "innodb_lock_wait_timeout"} {
		if _, ok := t.variables[v]; ok {
			sets = append(sets, v+"=1")
		}
	}
	list = append(list, "SET "+strings.Join(sets, ", "))
	if t.cfg.SessionInit != "" {
		list = append(list, t.cfg.SessionInit)
	}
	if t.fake {
		return append(list, "SET SESSION innodb_fake_changes=1")
	}
	return append(list, "SET SESSION TRANSACTION READ ONLY")
}

func readVariables(ctx context.Context, db *sql.DB, names []string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(names, "','")+"')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var n, v string
		if err := rows.Scan(&n, &v); err != nil {
			return nil, err
		}
		found[strings.ToLower(n)] = v
	}
	return found, rows.Err()
}

func identityOf(v map[string]string) Identity {
	return Identity{v["server_uuid"], v["hostname"] + ":" + v["port"] + "/" + v["server_id"] + v["datadir"]}
}

// writable: the server takes changes from ordinary accounts.
func writable(v map[string]string) bool {
	on := func(s string) bool { return strings.EqualFold(s, "ON") || s == "1" }
	return !on(v["read_only"]) && !on(v["super_read_only"]) && !on(v["innodb_read_only"])
}

func (t *target) refuse(ctx context.Context) error {
	if t.cfg.Source != "" {
		cfg, err := parseDSN(t.cfg.Source)
		if err != nil {
			return err
		}
		conn, err := mysql.NewConnector(cfg)
		if err != nil {
			return err
		}
		db := sql.OpenDB(conn)
		defer db.Close()
		v, err := readVariables(ctx, db, wanted)
		if err != nil {
			return fmt.Errorf("ask the source: %w", err)
		}
		if id := identityOf(v); id.same(t.identity) {
			return &RefusedError{"it is the source itself: " + id.String(), "give the standby"}
		}
	}
	if writable(t.variables) && !t.cfg.MayWrite {
		return &RefusedError{"it is not read_only, so it may be the active server", "SET GLOBAL read_only=1 on the standby, or --allow-writable"}
	}
	if t.cfg.AccountWrite || t.fake {
		return nil
	}
	grants, err := grantsOf(ctx, t.db)
	if err != nil {
		return fmt.Errorf("read the account's grants: %w", err)
	}
	if g := writingGrant(grants); g != "" {
		return &RefusedError{"its account can change data: " + g, "use one with SELECT, PROCESS and REPLICATION CLIENT only, or --allow-writing-account"}
	}
	return nil
}

// same server: by its uuid where both have one, else by all the rest.
func (i Identity) same(j Identity) bool {
	if i.UUID != "" && j.UUID != "" {
		return i.UUID == j.UUID
	}
	return i.Name == j.Name
}

func grantsOf(ctx context.Context, db *sql.DB) (list []string, err error) {
	rows, err := db.QueryContext(ctx, "SHOW GRANTS")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var g string
		if err := rows.Scan(&g); err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, rows.Err()
}

// harmlessPrivileges change nothing. EXECUTE is not among them: a routine runs with the rights of who made it.
var harmlessPrivileges = []string{
	"USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "PROCESS", "REPLICATION CLIENT", "BINLOG MONITOR", "SLAVE MONITOR",
	"REPLICA MONITOR", "SHOW_ROUTINE", "CONNECTION_ADMIN", "CONNECTION ADMIN",
}

// writingGrant is the first privilege that could change something; "" if there is none.
func writingGrant(grants []string) string {
	for _, g := range grants {
		head, ok := strings.CutPrefix(g, "GRANT ")
		if !ok {
			continue
		}
		privileges, _, ok := strings.Cut(head, " ON ")
		if !ok {
			return g // a role: what it may is not told here
		}
		depth := 0
		for _, p := range strings.FieldsFunc(privileges, func(r rune) bool {
			if r == '(' {
				depth++
			} else if r == ')' {
				depth--
			}
			return r == ',' && depth == 0
		}) {
			p, _, _ = strings.Cut(strings.TrimSpace(p), " (")
			if !slices.Contains(harmlessPrivileges, strings.ToUpper(p)) {
				return p
			}
		}
		if strings.HasSuffix(g, "WITH GRANT OPTION") {
			return "GRANT OPTION"
		}
	}
	return ""
}

// conn is one connection with the layers on it.
type conn struct {
	c     driver.Conn
	wire  *wire  // nil: the driver carries statements, too
	text  string // the statement that it will carry
	id    uint64
	state State // what its session has
	def   string
}

// connect makes one, and proves that the layers are there.
func (t *target) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var tapped tap
	dc, err := t.connector.Connect(context.WithValue(ctx, tapKey{}, &tapped))
	if err != nil {
		return nil, err
	}
	c := &conn{c: dc, def: t.schema, state: State{Schema: t.schema, Known: t.schema != ""}}
	for _, s := range t.setup {
		if err := c.exec(ctx, s); err != nil {
			dc.Close()
			return nil, fmt.Errorf("make the session read-only: %q: %w", s, err)
		}
	}
	check := "tx_read_only"
	if _, ok := t.variables["transaction_read_only"]; ok {
		check = "transaction_read_only"
	}
	if t.fake {
		check = "innodb_fake_changes"
	}
	got, err := c.one(ctx, "SELECT CONNECTION_ID(), @@session."+check)
	if err == nil && (len(got) != 2 || got[1] != "1" && !strings.EqualFold(got[1], "ON")) {
		err = &RefusedError{"its session is not read-only after it was set so: " + check + " is " + strings.Join(got[1:], ""), "look what stands between"}
	}
	if err == nil {
		c.id, err = strconv.ParseUint(got[0], 10, 64)
	}
	if err != nil {
		dc.Close()
		return nil, err
	}
	c.wire = tapped.wire()
	return c, nil
}

// most is how many statements may be on their way, of those that are wanted.
func (c *conn) most(wanted int) int {
	if c.wire == nil {
		return 1
	}
	return max(1, wanted)
}

// send puts statements on their way, at most so many.
func (c *conn) send(texts []string) error {
	if c.wire == nil {
		c.text = texts[0]
		return nil
	}
	return c.wire.send(texts, writePatience)
}

// answer reads the next answer to what was sent, and throws it away as it comes.
func (c *conn) answer(l Limits) (rows, bytes int64, err error) {
	if c.wire == nil {
		return c.read(c.text, l)
	}
	return c.wire.skip(l, l.patience())
}

func (c *conn) exec(ctx context.Context, s string) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(ctx, s, nil)
	return err
}

// one reads the first row.
func (c *conn) one(ctx context.Context, s string) ([]string, error) {
	rows, err := c.c.(driver.QueryerContext).QueryContext(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	dest := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(dest); err != nil {
		return nil, err
	}
	out := make([]string, len(dest))
	for i, v := range dest {
		if b, ok := v.([]byte); ok {
			out[i] = string(b)
		} else {
			out[i] = fmt.Sprint(v)
		}
	}
	return out, nil
}

// errCut: the result was larger than the limits; the connection is of no use any more.
var errCut = errors.New("result cut")

// read sends one statement by the driver and throws its result away as it comes.
func (c *conn) read(s string, l Limits) (rows, bytes int64, err error) {
	r, err := c.c.(driver.QueryerContext).QueryContext(context.Background(), s, nil)
	if err != nil {
		return 0, 0, err
	}
	dest := make([]driver.Value, len(r.Columns()))
	for {
		switch err := r.Next(dest); {
		case err == io.EOF:
			return rows, bytes, r.Close()
		case err != nil:
			r.Close()
			return rows, bytes, err
		}
		rows++
		for _, v := range dest {
			if b, ok := v.([]byte); ok {
				bytes += int64(len(b))
			} else {
				bytes += 8
			}
		}
		if rows > l.Rows || bytes > l.Bytes {
			return rows, bytes, errCut
		}
	}
}

// enter brings the session into a lane's state.
func (c *conn) enter(s State, baseModes string) error {
	if s == c.state {
		return nil
	}
	ctx := context.Background()
	if s.Modes != c.state.Modes {
		modes := s.Modes
		if modes == "" {
			modes = baseModes
		}
		if err := c.exec(ctx, "SET sql_mode='"+strings.Trim(modes, ",")+"'"); err != nil {
			return err
		}
		c.state.Modes = s.Modes
	}
	if s.Names != c.state.Names {
		names := s.Names
		if names == "" {
			names = "utf8mb4"
		}
		if err := c.exec(ctx, "SET NAMES "+names); err != nil {
			return err
		}
		c.state.Names = s.Names
	}
	if s.Vars != c.state.Vars {
		old, wanted := varLines(c.state.Vars), varLines(s.Vars)
		for name := range old {
			if _, kept := wanted[name]; !kept {
				value := "DEFAULT"
				if name[0] == '@' {
					value = "NULL"
				}
				if err := c.exec(ctx, "SET "+name+"="+value); err != nil {
					return err
				}
			}
		}
		for name, value := range wanted {
			if old[name] != value {
				if err := c.exec(ctx, "SET "+name+"="+value); err != nil {
					return err
				}
			}
		}
		c.state.Vars = s.Vars
	}
	c.state.Unsafe = s.Unsafe
	schema := s.Schema
	if !s.Known {
		schema = c.def
	}
	if schema != "" && schema != c.state.Schema {
		if err := c.exec(ctx, "USE "+quoteName(schema)); err != nil {
			return err
		}
	}
	if schema != "" {
		c.state.Schema, c.state.Known = schema, true
	}
	return nil
}

func varLines(vars string) map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(vars, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			m[name] = value
		}
	}
	return m
}

// lost: the connection is gone, so the statement may be tried again on another one.
func lost(err error) bool {
	var me *mysql.MySQLError
	if errors.As(err, &me) {
		switch me.Number {
		case 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169: // shut down, killed, aborted
			return true
		}
		return false
	}
	var ne net.Error
	return errors.Is(err, errProtocol) || errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &ne)
}

// reasonOf an error for the accounts: its number.
func reasonOf(err error) string {
	var me *mysql.MySQLError
	switch {
	case errors.As(err, &me):
		return "error " + strconv.Itoa(int(me.Number))
	case errors.Is(err, errProtocol):
		return "answer not understood"
	case lost(err):
		return "connection lost"
	}
	return "driver"
}

func (t *target) close() { t.db.Close() }
