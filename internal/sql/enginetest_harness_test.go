package sql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/enginetest"
	"github.com/dolthub/go-mysql-server/enginetest/scriptgen/setup"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
)

// harness gives enginetest engines of ours, each with a database of its own.
type harness struct {
	t       *testing.T
	scripts []setup.SetupScript
	session gms.Session // retained: NewContext gives it out until NewSession makes another
	skip    []string    // cases not to be run
	lenient bool        // sessions have no strict SQL mode

	mu      sync.Mutex
	current *world
	closed  []*world // whose engine was closed: nobody uses them any more
}

// world is one database of a harness.
type world struct {
	db        *hearth.DB
	backend   *sql.Backend
	validated uint64 // log bytes when it was found sound last

	mu       sync.Mutex
	sessions []*sql.Session
	connects uint32
}

var (
	_ enginetest.Harness             = (*harness)(nil)
	_ enginetest.ClientHarness       = (*harness)(nil)
	_ enginetest.ServerHarness       = (*harness)(nil)
	_ enginetest.SkippingHarness     = (*harness)(nil)
	_ enginetest.IndexHarness        = (*harness)(nil)
	_ enginetest.ForeignKeyHarness   = (*harness)(nil)
	_ enginetest.KeylessTableHarness = (*harness)(nil)
	_ enginetest.TransactionHarness  = (*harness)(nil)
	_ enginetest.ValidatingHarness   = (*harness)(nil)
)

func newHarness(t *testing.T) *harness { return &harness{t: t} }

// Setup implements enginetest.Harness. Vector indexes, which hearth refuses, are left out: the queries over their tables need none.
func (h *harness) Setup(scripts ...[]setup.SetupScript) {
	h.scripts = nil
	for _, list := range scripts {
		for _, s := range list {
			s = slices.DeleteFunc(slices.Clone(s), func(q string) bool { return strings.Contains(q, "VECTOR INDEX") })
			h.scripts = append(h.scripts, s)
		}
	}
}

// NewEngine implements enginetest.Harness.
func (h *harness) NewEngine(t *testing.T) (enginetest.QueryEngine, error) {
	h.closeUnused()
	w, err := openWorld(t)
	if err != nil {
		return nil, err
	}
	h.current, h.session = w, nil
	e := w.backend.Engine()
	e.Analyzer.Catalog.MySQLDb.AddRootAccount()
	e.Analyzer.Catalog.InfoSchema = information_schema.NewInformationSchemaDatabase()
	// The suites close engines and know no databases below: so they are told of it.
	err = e.BackgroundThreads.Add("harness", func(ctx context.Context) {
		<-ctx.Done()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.closed = append(h.closed, w)
	})
	if err != nil {
		return nil, err
	}
	scripts := h.scripts
	if len(scripts) == 0 {
		scripts = setup.MydbData
	}
	if _, err := enginetest.RunSetupScripts(enginetest.NewContext(h), e, scripts, true); err != nil {
		return nil, err
	}
	h.session, w.connects = nil, 0 // what the scripts have set in it is gone
	return e, nil
}

// openWorld opens a small database that lasts as long as t, or until it is closed.
func openWorld(t *testing.T) (*world, error) {
	db, err := hearth.Open(t.Context(), t.TempDir(), &hearth.Options{
		PoolSize: hearth.MinPoolSize, SegmentSize: 1 << 20, LogSize: hearth.MinLogSegments << 20,
		Memory: hearth.MemoryOff, Durability: hearth.DurabilityProcess, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, err
	}
	w := &world{db: db}
	t.Cleanup(func() { w.close() })
	w.backend, err = sql.Open(t.Context(), db, sql.Options{Collation: gms.Collation_Default})
	if err != nil {
		return nil, err
	}
	for _, p := range memory.ExternalStoredProcedures {
		w.backend.Provider().RegisterProcedure(p)
	}
	// GMS's suites were written for its own defaults, which are not MySQL's.
	return w, gms.SystemVariables.AssignValues(map[string]any{
		"collation_connection": gms.Collation_Default.String(),
		"collation_server":     gms.Collation_Default.String(),
		"collation_database":   gms.Collation_Default.String(),
	})
}

func (w *world) close() {
	if w.db != nil {
		for _, s := range w.sessions {
			s.SessionEnd() // as when the client goes away
		}
		w.backend.Close(context.Background())
		w.db.Close()
		w.db = nil
	}
}

func (h *harness) closeUnused() {
	h.mu.Lock()
	unused := h.closed
	h.closed = nil
	h.mu.Unlock()
	for _, w := range unused {
		w.close()
	}
}

func (h *harness) newSession(client gms.Client) *sql.Session {
	w := h.current
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connects++
	return w.keep(gms.NewBaseSessionWithClientServer("address", client, w.connects))
}

// keep makes a session of the world's, to be ended with it.
func (w *world) keep(base *gms.BaseSession) *sql.Session {
	s := w.backend.NewSession(base)
	w.sessions = append(w.sessions, s)
	return s
}

var rootClient = gms.Client{Address: "localhost", User: "root"}

// NewContext implements enginetest.Harness.
func (h *harness) NewContext() *gms.Context {
	if h.session == nil {
		h.session = h.newSession(rootClient)
	}
	ctx := gms.NewContext(context.Background(), gms.WithSession(h.session))
	if h.lenient {
		if err := h.session.SetSessionVariable(ctx, gms.SqlModeSessionVar, "NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"); err != nil {
			h.t.Fatal(err)
		}
	}
	return ctx
}

// NewContextWithClient implements enginetest.ClientHarness.
func (h *harness) NewContextWithClient(client gms.Client) *gms.Context {
	if h.current == nil {
		if _, err := h.NewEngine(h.t); err != nil {
			h.t.Fatal(err)
		}
	}
	return gms.NewContext(context.Background(), gms.WithSession(h.newSession(client)))
}

// NewSession implements enginetest.TransactionHarness.
func (h *harness) NewSession() *gms.Context {
	h.session = h.newSession(rootClient)
	return h.NewContext()
}

// SessionBuilder implements enginetest.ServerHarness.
func (h *harness) SessionBuilder() server.SessionBuilder {
	return func(_ context.Context, c *mysql.Conn, addr string) (gms.Session, error) {
		client := gms.Client{Capabilities: c.Capabilities}
		if u, ok := c.UserData.(gms.MysqlConnectionUser); ok {
			client.Address, client.User = u.Host, u.User
		}
		h.current.mu.Lock()
		defer h.current.mu.Unlock()
		return h.current.keep(gms.NewBaseSessionWithClientServer(addr, client, c.ConnectionID)), nil
	}
}

// SkipQueryTest implements enginetest.SkippingHarness.
func (h *harness) SkipQueryTest(query string) bool {
	name := caseName(query)
	for _, s := range h.skip {
		if s == name || strings.HasSuffix(s, "/"+name) {
			return true
		}
	}
	return false
}

// SupportsNativeIndexCreation implements enginetest.IndexHarness.
func (*harness) SupportsNativeIndexCreation() bool { return true }

// SupportsForeignKeys implements enginetest.ForeignKeyHarness.
func (*harness) SupportsForeignKeys() bool { return true }

// SupportsKeylessTables implements enginetest.KeylessTableHarness.
func (*harness) SupportsKeylessTables() bool { return true }

// ValidateEngine implements enginetest.ValidatingHarness: the dictionary agrees with itself and with the engine, and every index with
// its table. The suites call it after every statement; where nothing was written since it is left out.
func (h *harness) ValidateEngine(*gms.Context, *sqle.Engine) error {
	w := h.current
	if end := w.db.Stats().Log.Appended; end == w.validated {
		return nil
	} else {
		w.validated = end
	}
	ctx := context.Background()
	var errs []error
	for _, finding := range w.backend.Dict().Check(ctx) {
		errs = append(errs, errors.New(finding))
	}
	findings, err := w.backend.Verify(ctx)
	errs = append(errs, err)
	for _, f := range findings {
		errs = append(errs, fmt.Errorf("verify: %s", f))
	}
	return errors.Join(errs...)
}
