package sql

import (
	"context"
	"fmt"
	"sync"

	sqle "github.com/dolthub/go-mysql-server"
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// defaultCollation of databases, MySQL 8's.
const defaultCollation = gms.Collation_utf8mb4_0900_ai_ci

// Options of a Backend.
type Options struct {
	Parser gms.Parser  // comparable; nil: the one that is installed. GMS has one for the process
	Config sqle.Config // of the GMS engine

	// Collation of databases that are created without one; default utf8mb4_0900_ai_ci, as in MySQL 8.
	Collation gms.CollationID
}

func (o *Options) collation() gms.CollationID {
	if o.Collation == gms.Collation_Unspecified {
		return defaultCollation
	}
	return o.Collation
}

// Backend is a database of the engine, seen through SQL.
type Backend struct {
	options  Options
	db       *hearth.DB
	dict     *dict.Dict
	provider *Provider
	engine   *sqle.Engine
	stats    *statistics
	readOnly readOnly

	rowIDs      sync.Map // dict.Table.ID -> *atomic.Uint64, see newRowID
	autoLocks   sync.Map // dict.Table.ID -> chan struct{}, see AcquireAutoIncrementLock
	definitions sync.Map // dict.Table.Version -> *definition
}

// installOnce: GMS has one list of rules for the process, and copies it for each engine that is made.
var installOnce sync.Once

var parserMu sync.Mutex

// installParser makes p the parser of the process, if it is not: GMS reads the variable all the time.
func installParser(p gms.Parser) {
	parserMu.Lock()
	defer parserMu.Unlock()
	if p != nil && gms.GlobalParser != p {
		gms.GlobalParser = p
	}
}

// Open opens the dictionary of db, or makes one, and builds a GMS engine over it. The caller closes db after the Backend.
func Open(ctx context.Context, db *hearth.DB, o Options) (*Backend, error) {
	if err := defineVariables(); err != nil {
		return nil, fmt.Errorf("system variables: %w", err)
	}
	installOnce.Do(func() {
		installLockRule()
		installOrderRule()
		installAggregateRule()
		installInsertRule()
		installLoadRule()
		installViewRule()
		installShowCreateRule()
		installUpdateRule()
		installSetRule()
		installSetGlobalRule()
		installBetweenRule()
		installDropRule()
	})
	installDDLRule()
	installParser(o.Parser)
	d, err := dict.Open(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("data dictionary: %w", err)
	}
	b := &Backend{options: o, db: db, dict: d}
	if err := b.sweepTemporaries(ctx); err != nil {
		return nil, err
	}
	b.stats = newStatistics(b)
	b.provider = &Provider{backend: b, procedures: gms.NewExternalStoredProcedureRegistry()}
	b.engine = b.NewEngine(o.Config)
	return b, nil
}

// NewEngine builds one more GMS engine over the backend.
func (b *Backend) NewEngine(cfg sqle.Config) *sqle.Engine {
	e := sqle.New(analyzer.NewBuilder(b.provider).Build(), &cfg)
	e.Analyzer.Catalog.StatsProvider = b.stats
	e.Analyzer.Runner = &runner{e}
	return e
}

// Close writes what the dictionary keeps in memory. No session may be in use.
func (b *Backend) Close(ctx context.Context) error {
	b.engine.Close() // its error is that its threads were told to stop
	return b.dict.Close(ctx)
}

// Engine of GMS.
func (b *Backend) Engine() *sqle.Engine { return b.engine }

// Dict is the data dictionary.
func (b *Backend) Dict() *dict.Dict { return b.dict }

// DB is the database of the engine.
func (b *Backend) DB() *hearth.DB { return b.db }

// Provider of databases.
func (b *Backend) Provider() *Provider { return b.provider }

// Stats provider for GMS.
func (b *Backend) Stats() gms.StatsProvider { return b.stats }
