package bench

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth/internal/chart"
)

// OtherServer is a server that somebody else has set up, and the commands that restart it. Each is run by /bin/sh -c.
//
// Its database is not copied: a restart begins with what the one before left, and all tables lie in a schema of their own.
type OtherServer struct {
	DSN   string        // of the Go driver; its database is the schema, which must not be there yet; default otherSchema
	Name  string        // in pictures and tables
	Start string        // returns, or stays while the server runs
	Stop  string        // in order; it is over when the server is gone
	Kill  string        // the same, at once
	Cold  string        // run between stop and start, for what a reboot takes; "": nothing is taken
	Pid   string        // prints the process ids of the running server; "": they are not known
	Data  string        // folder of its files; "": not known
	Wait  time.Duration // patience with each start, stop and command
	Keep  bool          // the schema, for the next measurement
}

const (
	// ProfileOther is the name of an OtherServer among the profiles.
	ProfileOther = "other"
	otherSchema  = "hearth_bench"
	// otherMark is the table that says what the schema was filled with. It is made last.
	otherMark = "loaded"
	otherPoll = 10 * time.Millisecond
)

// OtherProfile measures such a server, with the counters that it has of InnoDB's.
func OtherProfile(o OtherServer) ServerProfile {
	return ServerProfile{Name: o.Name, Kind: ProfileOther, Color: chart.Other, Other: &o, Lose: o.Cold != "", Facts: innodbFacts}
}

// validate says what is missing for what is to be measured.
func (o OtherServer) validate(cfg ServerRestartConfig) error {
	dsn, err := mysql.ParseDSN(o.DSN)
	if err != nil {
		return fmt.Errorf("--dsn: %w; want user:password@tcp(host:3306)/ or user:password@unix(/run/mysqld.sock)/", err)
	}
	if strings.ContainsAny(dsn.DBName, "`. ") {
		return fmt.Errorf("--dsn: the schema %q is written into statements as it is: want a plain name", dsn.DBName)
	}
	if o.Start == "" {
		return errors.New("--start is missing: the command that starts the server")
	}
	for _, c := range cfg.Cases {
		if c.Stop == StopKill && o.Kill == "" {
			return errors.New("--kill is missing: the command that ends the server at once (or measure --stops clean)")
		}
		if c.Stop == StopClean && o.Stop == "" {
			return errors.New("--stop is missing: the command that ends the server in order (or measure --stops kill)")
		}
	}
	if cfg.Disk.String() != "" && o.Data == "" {
		return errors.New("--data is missing: the folder of the server's files, to know which disk to hold back")
	}
	if o.Wait <= 0 {
		return fmt.Errorf("--wait %v: want more than 0", o.Wait)
	}
	return nil
}

// other is such a server under measurement.
type other struct {
	OtherServer
	cfg     ServerRestartConfig
	dsn     *mysql.Config
	schema  string
	out     Output
	outputs string // folder for what the start commands write
	started *startCommand
	found   bool // it was running when we came
	made    bool // the schema is ours
	filled  bool
}

// startCommand is one run of OtherServer.Start.
type startCommand struct {
	ended  chan struct{} // closed when the command has returned
	err    error         // then
	output string        // file
}

// newOther connects to nobody yet; dir is a folder for files of ours.
func newOther(o OtherServer, cfg ServerRestartConfig, dir string, out Output) (*other, error) {
	dsn, err := mysql.ParseDSN(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("--dsn: %w", err)
	}
	dsn.Logger, dsn.InterpolateParams = &mysql.NopLogger{}, true // connections are lost on purpose; one round trip, as with the others
	dsn.Timeout = cmp.Or(dsn.Timeout, 5*time.Second)
	return &other{OtherServer: o, cfg: cfg, dsn: dsn, schema: cmp.Or(dsn.DBName, otherSchema), out: out, outputs: dir}, nil
}

func (o *other) subject() subject {
	return subject{
		server: o, name: o.Name, schema: o.schema, data: o.Data, wait: o.Wait,
		flags: func([]string) {}, cold: func() error { return o.run("--cold", o.Cold) },
	}
}

// Open is server's.
func (o *other) Open(database string) (*sql.DB, error) {
	dsn := o.dsn.Clone()
	dsn.DBName = database
	c, err := mysql.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// ping makes a connection and drops it.
func (o *other) ping(ctx context.Context) error {
	db, err := o.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}

// Start is server's. A server that answers already is started.
func (o *other) Start(ctx context.Context) error {
	launched, end := false, time.Now().Add(o.Wait)
	for {
		err := o.ping(ctx)
		if err == nil {
			return nil
		}
		if refused(err) {
			return fmt.Errorf("%s answers, but does not let us in: %w", o.Name, err)
		}
		if !launched {
			launched = true
			o.out.Progress("%s: starting it", o.Name)
			if err := o.Launch(ctx, nil); err != nil {
				return err
			}
		}
		if err := o.Exited(); err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not answer %v (--wait) after %q: %w%s", o.Name, o.Wait, o.OtherServer.Start, err, o.started.said())
		}
		if err := after(otherPoll)(ctx); err != nil {
			return err
		}
	}
}

// refused: it is no use to ask again.
func refused(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == 1044 || e.Number == 1045 || e.Number == 1698) // access denied, in its three ways
}

// Launch is server's. The command waits until it was let into the cage: all that it starts is in there too. A server that somebody else starts for it, like
// systemd, is known by its Pid only.
func (o *other) Launch(ctx context.Context, enter func(pid int) error) error {
	output, err := os.Create(filepath.Join(o.outputs, "start.out")) // no pipe: a server that goes to the background keeps it
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command("/bin/sh", "-c", `read go && exec /bin/sh -c "$0" </dev/null`, o.OtherServer.Start)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("--start: %w", err)
	}
	s := &startCommand{ended: make(chan struct{}), output: output.Name()}
	if enter != nil {
		err = enter(cmd.Process.Pid)
	}
	if err == nil {
		_, err = in.Write([]byte("go\n"))
	}
	in.Close()
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	o.started = s
	if err != nil {
		return fmt.Errorf("--start: %w", err)
	}
	if enter == nil || o.Pid == "" {
		return nil
	}
	return o.enterAll(ctx, enter)
}

// enterAll waits until the server says who it is.
func (o *other) enterAll(ctx context.Context, enter func(pid int) error) error {
	for end := time.Now().Add(o.Wait); ; {
		pids, err := o.Processes()
		for _, pid := range pids {
			if err := enter(pid); err != nil {
				return fmt.Errorf("hold back the disk of process %d: %w", pid, err)
			}
		}
		if len(pids) > 0 {
			return nil
		}
		if err := o.Exited(); err != nil {
			return err
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%q (--pid) names no running process %v (--wait) after the start", o.Pid, o.Wait), err)
		}
		if err := after(otherPoll)(ctx); err != nil {
			return err
		}
	}
}

// Processes is server's: those that --pid names.
func (o *other) Processes() (alive []int, err error) {
	if o.Pid == "" {
		return nil, nil
	}
	told, err := exec.Command("/bin/sh", "-c", o.Pid).Output()
	for field := range strings.FieldsSeq(string(told)) {
		pid, notNumber := strconv.Atoi(field)
		if notNumber != nil {
			return nil, fmt.Errorf("--pid: %q printed %q, which is no process id", o.Pid, field)
		}
		if lives(pid) {
			alive = append(alive, pid)
		}
	}
	return alive, err
}

// lives: it is there, and not only waited for.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ") // behind the name
	return !strings.HasPrefix(state, "Z")
}

// said is what the command wrote, the end of it.
func (s *startCommand) said() string {
	b, err := os.ReadFile(s.output)
	if err != nil {
		return ""
	}
	return indented(b)
}

// saidMost bytes of a command's output are told.
const saidMost = 2 << 10

func indented(output []byte) string {
	if n := len(output) - saidMost; n > 0 {
		output = output[n:]
	}
	text := strings.TrimSpace(string(output))
	if text == "" {
		return ""
	}
	return "; it said:\n    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// Exited is server's. A command that went well may have left the server in the background.
func (o *other) Exited() error {
	s := o.started
	if s == nil {
		return nil
	}
	select {
	case <-s.ended:
	default:
		return nil
	}
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("--start: %q: %w%s", o.OtherServer.Start, s.err, s.said())
}

// Stop is server's.
func (o *other) Stop() error { return o.finish("--stop", o.OtherServer.Stop) }

// Kill is server's.
func (o *other) Kill() error { return o.finish("--kill", o.OtherServer.Kill) }

// finish ends the server with a command and waits until it is gone: nobody answers, no process of it lives, and a start command that
// stayed has returned.
func (o *other) finish(what, command string) error {
	pids, err := o.Processes()
	if err != nil && len(pids) > 0 {
		return err
	}
	if err := o.run(what, command); err != nil {
		return err
	}
	for end := time.Now().Add(o.Wait); ; time.Sleep(otherPoll) {
		there := o.remains(pids)
		if there == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%v (--wait) after %s %q %s", o.Wait, what, command, there)
		}
	}
}

// remains says what of the server is still there; "": nothing.
func (o *other) remains(pids []int) string {
	ctx, cancel := context.WithTimeout(context.Background(), o.dsn.Timeout)
	defer cancel()
	if err := o.ping(ctx); err == nil || refused(err) {
		return o.Name + " still answers (does something start it again?)"
	}
	for _, pid := range pids {
		if lives(pid) {
			return fmt.Sprintf("its process %d is still there", pid)
		}
	}
	if o.started != nil {
		select {
		case <-o.started.ended:
		default:
			return fmt.Sprintf("the command that started it, %q, has not returned (does it start the server again?)", o.OtherServer.Start)
		}
	}
	return ""
}

// run a command that ends.
func (o *other) run(what, command string) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for whom it left in the background with its output
	output, err := cmd.CombinedOutput()
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %q has not returned after %v (--wait)%s", what, command, o.Wait, indented(output))
	}
	return fmt.Errorf("%s: %q: %w%s", what, command, err, indented(output))
}

// prepare starts the server, if it does not run, and fills the schema.
func (o *other) prepare(ctx context.Context) error {
	o.found = o.ping(ctx) == nil
	if err := o.Start(ctx); err != nil {
		return err
	}
	db, err := o.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	o.tellAbsent(ctx, db)
	workload := o.cfg.Cases[0].Workload
	want := fmt.Sprintf("%s, %d bytes, seed %d", datasetOf(workload).name, o.cfg.Bytes, o.cfg.Seed)
	var schemas int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", o.schema).Scan(&schemas); err != nil {
		return err
	}
	if schemas > 0 {
		var got string
		if err := db.QueryRowContext(ctx, "SELECT what FROM "+o.schema+"."+otherMark).Scan(&got); err != nil {
			return fmt.Errorf("the schema %s is there, and is none that a measurement loaded in whole (%w): drop it, or name another one in --dsn", o.schema, err)
		}
		if got != want {
			return fmt.Errorf("the schema %s holds %s, and %s is wanted: drop it, or name another one in --dsn", o.schema, got, want)
		}
		o.out.Progress("%s: loaded before: schema %s", o.Name, o.schema)
		return nil
	}
	o.made = true
	if err := loadServer(ctx, o.cfg, workload, o.subject(), o.out); err != nil {
		return err
	}
	for _, q := range []string{
		"CREATE TABLE " + o.schema + "." + otherMark + " (what VARCHAR(100) NOT NULL PRIMARY KEY)",
		"INSERT INTO " + o.schema + "." + otherMark + " VALUES ('" + want + "')",
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	o.filled = true
	return nil
}

// tellAbsent says what will not be known of this server, or not be done to it.
func (o *other) tellAbsent(ctx context.Context, db *sql.DB) {
	var absent []string
	for name := range innodbFacts {
		var got, value string
		if db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&got, &value) != nil {
			absent = append(absent, name)
		}
	}
	slices.Sort(absent)
	if len(absent) > 0 {
		o.out.Progress("%s: it has no %s: pictures and tables lack them", o.Name, strings.Join(absent, ", "))
	}
	if o.cfg.Disk.String() != "" && o.Pid == "" {
		o.out.Progress("%s: no --pid: the disk is held back for what --start itself starts, not for a server that another process starts for it", o.Name)
	}
	if o.Cold != "" && o.Data == "" {
		o.out.Progress("%s: no --data: its files stay in the system's cache", o.Name)
	}
}

func (o *other) before() error { return nil }
func (o *other) after() error  { return nil }

// end drops a schema that is not to be kept, or is not whole, and leaves the server as it was found: running or not.
func (o *other) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Wait)
	defer cancel()
	var errs []error
	if o.made && !(o.Keep && o.filled) {
		errs = append(errs, o.drop(ctx))
	}
	switch {
	case o.found:
		errs = append(errs, o.Start(ctx))
	case o.started == nil:
	case o.OtherServer.Stop != "":
		errs = append(errs, o.Stop())
	default:
		errs = append(errs, o.Kill())
	}
	return errors.Join(errs...)
}

func (o *other) drop(ctx context.Context) error {
	if err := o.Start(ctx); err != nil {
		return err
	}
	db, err := o.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "DROP DATABASE "+o.schema); err != nil {
		return fmt.Errorf("drop the schema of the measurement: %w", err)
	}
	return nil
}
