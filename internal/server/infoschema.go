package server

import (
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
)

// infoSchema is GMS's information_schema with tables of ours, some in the place of GMS's empty ones.
type infoSchema struct {
	gms.Database
	server *Server
	tables map[string]*infoTable // by lower-case name
}

// infoTable is a table that is computed when it is read.
type infoTable struct {
	name    string
	columns gms.Schema
	// process: reading it needs the PROCESS privilege. It tells of other users' statements, or of keys of rows.
	process bool
	rows    func(*gms.Context) ([]gms.Row, error)
}

func (s *Server) newInfoSchema(base gms.Database) *infoSchema {
	d := &infoSchema{Database: base, server: s, tables: map[string]*infoTable{}}
	for _, t := range concat(s.statusTables(), s.hearthTables(), s.lockTables(), s.innodbTables(base), []*infoTable{s.eventTable(base)}) {
		for _, c := range t.columns {
			c.Source, c.DatabaseSource = t.name, gms.InformationSchemaDatabaseName
		}
		d.tables[strings.ToLower(t.name)] = t
	}
	return d
}

// GetTableInsensitive implements gms.Database. Each use of a table gets a value of its own: GMS writes into it.
func (d *infoSchema) GetTableInsensitive(ctx *gms.Context, name string) (gms.Table, bool, error) {
	if strings.EqualFold(name, information_schema.ColumnsTableName) {
		return columnsTable(), true, nil
	}
	t, ours := d.tables[strings.ToLower(name)]
	if !ours {
		return d.Database.GetTableInsensitive(ctx, name)
	}
	return &information_schema.InformationSchemaTable{
		TableName:   t.name,
		TableSchema: t.columns,
		Reader: func(ctx *gms.Context, _ gms.Catalog) (gms.RowIter, error) {
			if t.process {
				if err := d.server.mayProcess(ctx); err != nil {
					return nil, err
				}
			}
			rows, err := t.rows(ctx)
			if err != nil {
				return nil, err
			}
			return gms.RowsToRowIter(rows...), nil
		},
	}, true, nil
}

// GetTableNames implements gms.Database.
func (d *infoSchema) GetTableNames(ctx *gms.Context) ([]string, error) {
	names, err := d.Database.GetTableNames(ctx)
	if err != nil {
		return nil, err
	}
	for name := range d.tables {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// mayProcess is an error for users who may not see what others do.
func (s *Server) mayProcess(ctx *gms.Context) error {
	if s.users.UserHasPrivileges(ctx, gms.NewPrivilegedOperation(gms.PrivilegeCheckSubject{}, gms.PrivilegeType_Process)) {
		return nil
	}
	return sqlError(mysql.ERSpecifiedAccessDenied, stateSyntaxOrAccess,
		"Access denied; you need (at least one of) the PROCESS privilege(s) for this operation")
}

// Columns of the tables. All may be NULL.

func textColumn(name string) *gms.Column {
	return &gms.Column{Name: name, Type: types.LongText, Nullable: true}
}

func numberColumn(name string) *gms.Column {
	return &gms.Column{Name: name, Type: types.Int64, Nullable: true}
}

func idColumn(name string) *gms.Column {
	return &gms.Column{Name: name, Type: types.Uint64, Nullable: true}
}

func realColumn(name string) *gms.Column {
	return &gms.Column{Name: name, Type: types.Float64, Nullable: true}
}

func timeColumn(name string) *gms.Column {
	return &gms.Column{Name: name, Type: types.DatetimeMaxPrecision, Nullable: true}
}

// yes is how information_schema writes booleans.
func yes(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}
