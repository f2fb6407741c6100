package sql

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth/internal/dict"
)

// Provider gives GMS the databases of one Backend, as the session that asks sees them.
type Provider struct {
	backend    *Backend
	procedures gms.ExternalStoredProcedureRegistry
}

var (
	_ gms.DatabaseProvider                = (*Provider)(nil)
	_ gms.ExternalStoredProcedureProvider = (*Provider)(nil)
)

// schemaOf is the picture that the session behind ctx sees, or the committed one.
func (p *Provider) schemaOf(ctx *gms.Context) *dict.Schema {
	if ctx != nil {
		if s := SessionOf(ctx); s != nil && s.backend == p.backend {
			return s.Schema()
		}
	}
	return p.backend.dict.Schema()
}

// errNoMySQL answers for the database that GMS asks for with every statement while users are off. An error of its kind made anew
// would cost a stack trace each time.
var errNoMySQL = gms.ErrDatabaseNotFound.New("mysql")

// Database implements gms.DatabaseProvider.
func (p *Provider) Database(ctx *gms.Context, name string) (gms.Database, error) {
	if db := p.schemaOf(ctx).Database(name); db != nil {
		return &Database{backend: p.backend, name: db.Name}, nil
	}
	if strings.EqualFold(name, "mysql") {
		return nil, errNoMySQL
	}
	return nil, gms.ErrDatabaseNotFound.New(name)
}

// HasDatabase implements gms.DatabaseProvider.
func (p *Provider) HasDatabase(ctx *gms.Context, name string) bool {
	return p.schemaOf(ctx).Database(name) != nil
}

// AllDatabases implements gms.DatabaseProvider. GMS asks when it walks over all definitions there are.
func (p *Provider) AllDatabases(ctx *gms.Context) []gms.Database {
	picture := p.schemaOf(ctx)
	if s := SessionOf(ctx); s != nil && s.backend == p.backend {
		picture = s.walk()
	}
	all := picture.Databases()
	out := make([]gms.Database, len(all))
	for i, db := range all {
		out[i] = &Database{backend: p.backend, name: db.Name, picture: picture}
	}
	return out
}

// ExternalStoredProcedure implements gms.ExternalStoredProcedureProvider.
func (p *Provider) ExternalStoredProcedure(_ *gms.Context, name string, params int) (*gms.ExternalStoredProcedureDetails, error) {
	return p.procedures.LookupByNameAndParamCount(name, params)
}

// ExternalStoredProcedures implements gms.ExternalStoredProcedureProvider.
func (p *Provider) ExternalStoredProcedures(_ *gms.Context, name string) ([]gms.ExternalStoredProcedureDetails, error) {
	return p.procedures.LookupByName(name)
}

// RegisterProcedure adds a procedure written in Go, to be called by CALL. Before the first statement.
func (p *Provider) RegisterProcedure(d gms.ExternalStoredProcedureDetails) { p.procedures.Register(d) }
