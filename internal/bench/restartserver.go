package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/restart"
)

// ServerRestartConfig says which restarts of which servers are measured, over the MySQL protocol.
type ServerRestartConfig struct {
	Dir     string
	Loaded  string // folder that keeps loaded databases for the next measurement; "": they are removed at the end
	Bytes   int64  // of rows
	Pool    int64
	LogSize int64
	Clients int // at most serverClients
	Before  time.Duration
	After   time.Duration // from the first answer on, at most
	Whole   bool          // measure all of After, even when everything is as before
	Redo    int64         // with updates: bytes of log that should be behind the kill
	Disk    restart.Disk  // of the server after the restart
	Runs    int
	Seed    uint64

	Cases    []ServerCase
	Profiles []ServerProfile

	// Draw makes the picture of one case, or of all cases (Bars); nil: none. Picture is its path without extension; the name of the
	// case is added where there are several.
	Draw     func(ServerRestartConfig, []CaseRuns) []NamedPicture
	Picture  string
	Timeline func(*restart.Timeline) // told all that was measured of each restart
	Command  string                  // the command line that says all this, without passwords
}

// ServerCase is what clients ask for, and how the server ends.
type ServerCase struct {
	Workload string // a Workload constant
	Spread   string // of the rows; tpcc has its own
	Stop     string
	Rate     float64 // requests that arrive per second (open loop); 0: each client without a pause
}

// What clients ask for.
const (
	WorkloadPoint     = "point"     // one row by its primary key
	WorkloadUpdate    = "update"    // one row changed by its primary key, a transaction of its own
	WorkloadReadWrite = "readwrite" // nine rows read and one changed, in one transaction
	WorkloadTPCC      = "tpcc"      // the five transactions of TPC-C in their mix
)

// ServerWorkloads are all there are.
var ServerWorkloads = []string{WorkloadPoint, WorkloadUpdate, WorkloadReadWrite, WorkloadTPCC}

// String is "update, uniform, kill -9, 4,000/s".
func (c ServerCase) String() string {
	s := c.Workload
	if c.Workload != WorkloadTPCC {
		s += ", " + c.Spread
	}
	s += ", " + map[string]string{StopKill: "kill -9", StopClean: "clean stop"}[c.Stop]
	if c.Rate > 0 {
		s += ", " + thousands(c.Rate) + "/s"
	}
	return s
}

// ServerProfile is a server and what its restart finds.
type ServerProfile struct {
	Name   string // "hearth, memory kept"
	Kind   string // profiles of one kind share a server and its rows
	Color  chart.Color
	Dash   bool
	Make   func(peer.Config) (*peer.Server, error)
	Other  *OtherServer // instead of Make
	Load   []string     // flags of the load before the restart
	After  []string     // flags after it
	Memory string       // folder of what outlives the process; "": nothing does
	Lose   bool         // between stop and start that is thrown away, and the system's cache of its files, as by a reboot
	Dump   string       // the statement that writes the list of cached pages before the restart; "": none is written
	Scan   ScanTime
	Facts  map[string]string // of the server's counters, those that are sampled

	// Settle, when given, makes a stopped server's files what they would be long after the load: everything is in its place, and
	// no log of the load is left to redo. InnoDB does so when it stops.
	Settle func(ctx context.Context, s *peer.Server) error
}

// ScanTime says whether everything is read by full scans after the restart.
type ScanTime int

// The choices.
const (
	ScanNever  ScanTime = iota
	ScanBeside          // while clients are served
	ScanBefore          // clients are let in when the scans are done
)

const (
	serverMeasure  = "restart-server"
	serverDatabase = "bench"
	serverClients  = 256
	// openClients take the requests that arrive in an open loop: more than a server answers at a time.
	openClients = 64
)

// CaseRuns is everything measured of one case.
type CaseRuns struct {
	Case     ServerCase
	Profiles []ProfileRuns
}

// ProfileRuns are the runs of one profile.
type ProfileRuns struct {
	ServerProfile
	Runs []*restart.Timeline
}

// Validate says what cannot be measured.
func (cfg ServerRestartConfig) Validate() error {
	if cfg.Clients < 1 || cfg.Clients > serverClients {
		return fmt.Errorf("%d clients: want 1 to %d", cfg.Clients, serverClients)
	}
	if cfg.Pool < cfg.Bytes+cfg.Bytes/5 {
		return fmt.Errorf("a pool of %d MiB is too small for %d MiB of rows, which need a fifth more", cfg.Pool>>20, cfg.Bytes>>20)
	}
	for _, p := range cfg.Profiles {
		if p.Other != nil {
			if err := p.Other.validate(cfg); err != nil {
				return err
			}
		}
	}
	for _, c := range cfg.Cases[1:] {
		if datasetOf(c.Workload).name != datasetOf(cfg.Cases[0].Workload).name {
			return fmt.Errorf("%s and %s want different tables: measure them in two runs", cfg.Cases[0].Workload, c.Workload)
		}
	}
	return nil
}

// ServerRestart measures the restarts of the profiles, in turn, Runs times each case. A kind of server is loaded once, and every
// restart begins with a copy of what was loaded, or with that of the restart before if there were only reads. A restart that fails is told and left out; the others are measured all the same.
func ServerRestart(ctx context.Context, cfg ServerRestartConfig, out Output) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	m := &serverRestarts{cfg: cfg, out: out, dir: dir, store: store{dir: cfg.Loaded}, kinds: map[string]staged{}}
	if cfg.Loaded == "" {
		m.store.dir = filepath.Join(dir, "loaded")
	}
	defer func() { err = errors.Join(err, m.end()) }()
	if err := m.possible(); err != nil {
		return err
	}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	all, failed := m.measure(ctx)
	for _, c := range all {
		serverFigures(cfg, c, out)
	}
	if ctx.Err() != nil { // what was measured until then is told, but no picture replaced by a part of one
		return errors.Join(failed, ctx.Err())
	}
	return errors.Join(failed, m.draw(all))
}

// serverRestarts is one measurement under way.
type serverRestarts struct {
	cfg   ServerRestartConfig
	out   Output
	dir   string
	store store
	kinds map[string]staged
}

// staged is a server with what sees to its database.
type staged struct {
	subject
	stage
}

func (m *serverRestarts) end() (err error) {
	for _, s := range m.kinds {
		err = errors.Join(err, s.end())
	}
	return err
}

// make the server of a profile.
func (m *serverRestarts) make(p ServerProfile) (staged, error) {
	if p.Other != nil {
		o, err := newOther(*p.Other, m.cfg, m.dir, m.out)
		if err != nil {
			return staged{}, err
		}
		return staged{o.subject(), o}, nil
	}
	s, err := p.Make(peer.Config{Dir: filepath.Join(m.dir, p.Kind), Pool: m.cfg.Pool, LogSize: m.cfg.LogSize, Durable: true})
	if err != nil {
		return staged{}, err
	}
	return staged{peerSubject(s), copies{store: m.store, cfg: m.cfg, p: p, server: s, out: m.out}}, nil
}

// possible says what would fail only after minutes or hours: a disk that cannot be held back, pictures that cannot be written.
func (m *serverRestarts) possible() error {
	for _, p := range m.cfg.Profiles {
		if m.cfg.Disk == (restart.Disk{}) {
			break
		}
		path := m.dir
		if p.Other != nil {
			path = p.Other.Data
		}
		if err := restart.CanHold(path, m.cfg.Disk); err != nil {
			return err
		}
	}
	return drawableAt(m.cfg.Picture)
}

// prepare makes and loads the servers. Profiles whose server is not installed are left out.
func (m *serverRestarts) prepare(ctx context.Context) error {
	var there []ServerProfile
	for _, p := range m.cfg.Profiles {
		if _, made := m.kinds[p.Kind]; !made {
			s, err := m.make(p)
			if errors.Is(err, peer.ErrMissing) {
				m.out.Progress("%s: %v; measuring without it", p.Name, err)
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			m.kinds[p.Kind] = s
			if err := s.prepare(ctx); err != nil {
				return fmt.Errorf("%s: load: %w", s.name, err)
			}
		}
		there = append(there, p)
	}
	m.cfg.Profiles = there
	return nil
}

// measure all runs: systems take turns.
func (m *serverRestarts) measure(ctx context.Context) (all []CaseRuns, failed error) {
	total, done := len(m.cfg.Cases)*m.cfg.Runs*len(m.cfg.Profiles), 0
	m.out.Progress("%d restarts to measure: %d cases, %d systems, %d runs of each; about %v in all if servers come back at once",
		total, len(m.cfg.Cases), len(m.cfg.Profiles), m.cfg.Runs, (time.Duration(total) * m.guess()).Round(time.Minute))
	start := time.Now()
	for _, c := range m.cfg.Cases {
		runs := CaseRuns{Case: c}
		for _, p := range m.cfg.Profiles {
			runs.Profiles = append(runs.Profiles, ProfileRuns{ServerProfile: p})
		}
		for n := range m.cfg.Runs {
			for i, p := range m.cfg.Profiles {
				t, err := m.run(ctx, c, p)
				if err != nil && ctx.Err() != nil {
					return append(all, runs), failed
				}
				done++
				left := (time.Since(start) / time.Duration(done) * time.Duration(total-done)).Round(time.Minute)
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s: %s, run %d: %w", c, p.Name, n+1, err))
					m.out.Progress("FAILED: %s: %s, run %d of %d: %v (%d of %d done, %v to go)", c, p.Name, n+1, m.cfg.Runs, err, done, total, left)
					continue
				}
				blackout, _ := t.Blackout()
				report := t.Report // of others there is none
				if report != "" {
					report = "; " + report
				}
				m.out.Progress("%s: %s, run %d of %d: blackout %v%s (%d of %d done, %v to go)",
					c, p.Name, n+1, m.cfg.Runs, blackout.Round(time.Millisecond), report, done, total, left)
				runs.Profiles[i].Runs = append(runs.Profiles[i].Runs, t)
			}
		}
		all = append(all, runs)
	}
	return all, failed
}

// Bytes per second of what surrounds a measurement, for guesses only.
const (
	guessCopy = 500e6
	guessWarm = 200e6
	guessLog  = 2e6 // written by updates
)

// guess is how long one restart takes.
func (m *serverRestarts) guess() time.Duration {
	around := float64(m.cfg.Bytes) * 1.5 * (1/guessCopy + 1/guessWarm)
	log := min(redoPatience, time.Duration(float64(m.cfg.Redo)/guessLog*float64(time.Second)))
	return time.Duration(around*float64(time.Second)) + m.cfg.Before*3/2 + log + m.cfg.After
}

// run measures one restart, of a fresh copy unless it would be the same.
func (m *serverRestarts) run(ctx context.Context, c ServerCase, p ServerProfile) (*restart.Timeline, error) {
	s := m.kinds[p.Kind]
	if err := s.before(); err != nil {
		return nil, err
	}
	b := newBed(m.cfg, c, p, s.subject, m.out)
	t := &restart.Timeline{Name: p.Name, System: s.name, Config: b.config(), Rate: c.Rate}
	err := b.measure(ctx, t)
	err = errors.Join(err, s.after())
	if m.cfg.Timeline != nil && len(t.Ticks) > 0 {
		m.cfg.Timeline(t)
	}
	return t, err
}

// readsOnly: no client changes anything.
func (cfg ServerRestartConfig) readsOnly() bool {
	return !slices.ContainsFunc(cfg.Cases, func(c ServerCase) bool { return c.Workload != WorkloadPoint })
}

func (cfg ServerRestartConfig) size() string {
	return fmt.Sprintf("%.2f GB of rows", float64(cfg.Bytes)/1e9)
}

// draw saves the pictures.
func (m *serverRestarts) draw(all []CaseRuns) (err error) {
	if m.cfg.Picture == "" || m.cfg.Draw == nil {
		return nil
	}
	for _, p := range m.cfg.Draw(m.cfg, all) {
		if e := p.Save(m.cfg.Picture + p.Name); e != nil {
			err = errors.Join(err, e)
			continue
		}
		m.out.Progress("drawn: %s.svg, .png, -dark.svg, -dark.png", m.cfg.Picture+p.Name)
	}
	return err
}
