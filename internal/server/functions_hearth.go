package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
)

// hearthFunctions are what the parser makes statements of that GMS lacks: CHECK TABLE, CHECKSUM TABLE, SHOW COUNT(*) WARNINGS,
// @@warning_count.
func (s *Server) hearthFunctions() []*function {
	return []*function{
		{name: "hearth_warning_count", result: types.Int64, impure: true, call: func(ctx *gms.Context, _ []any) (any, error) {
			if cl := s.clients.get(ctx.Session.ID()); cl != nil { // the one whose statement this is
				return int64(cl.warned), nil
			}
			return int64(0), nil
		}},
		{name: "hearth_check_table", min: 2, max: 2, result: types.LongText, impure: true, nulls: true, call: s.checkTable},
		{name: "hearth_checksum_table", min: 2, max: 2, result: types.Uint64, impure: true, nulls: true, call: s.checksumTable},
	}
}

// shutdown is what the parser makes SHUTDOWN of.
func (s *Server) shutdown() gms.ExternalStoredProcedureDetails {
	return gms.ExternalStoredProcedureDetails{
		Name: "hearth_shutdown",
		Function: func(ctx *gms.Context) (gms.RowIter, error) {
			if !s.users.UserHasPrivileges(ctx, gms.NewPrivilegedOperation(gms.PrivilegeCheckSubject{}, gms.PrivilegeType_Shutdown)) {
				return nil, sqlError(mysql.ERSpecifiedAccessDenied, stateSyntaxOrAccess,
					"Access denied; you need (at least one of) the SHUTDOWN privilege(s) for this operation")
			}
			s.askToStop()
			return gms.RowsToRowIter(), nil
		},
	}
}

// tableArgs are a database and a table that the user may read.
func (s *Server) tableArgs(ctx *gms.Context, args []any) (db, table string, err error) {
	if args[0] == nil {
		return "", "", gms.ErrNoDatabaseSelected.New()
	}
	if db, err = textArg(ctx, args[0]); err != nil {
		return "", "", err
	}
	if table, err = textArg(ctx, args[1]); err != nil {
		return "", "", err
	}
	op := gms.NewPrivilegedOperation(gms.PrivilegeCheckSubject{Database: db, Table: table}, gms.PrivilegeType_Select)
	if !s.users.UserHasPrivileges(ctx, op) {
		return "", "", gms.ErrTableAccessDeniedForUser.New(ctx.Client().User, table)
	}
	return db, table, nil
}

// checkTable reads all rows and all index entries of a table and holds them against each other. It is "OK", or what it found
// first and how much more there is.
func (s *Server) checkTable(ctx *gms.Context, args []any) (any, error) {
	db, name, err := s.tableArgs(ctx, args)
	if err != nil {
		return nil, err
	}
	t := s.backend.Dict().Schema().Table(db, name)
	if t == nil {
		return fmt.Sprintf("Table '%s.%s' doesn't exist", db, name), nil
	}
	findings, err := s.backend.VerifyTable(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case len(findings) == 0:
		return "OK", nil
	case len(findings) == 1:
		return findings[0], nil
	}
	return fmt.Sprintf("%s (and %d more findings)", findings[0], len(findings)-1), nil
}

// checksumTable sums up a checksum of each row, so that the order of rows does not matter. It is over values, not over stored
// bytes, and so the same after any ALTER that keeps them; it is not that of other servers, whose rows are stored otherwise.
// NULL for a table that does not exist.
func (s *Server) checksumTable(ctx *gms.Context, args []any) (any, error) {
	dbName, name, err := s.tableArgs(ctx, args)
	if err != nil {
		return nil, err
	}
	db, err := s.backend.Provider().Database(ctx, dbName)
	if err != nil {
		return nil, nil
	}
	t, ok, err := db.GetTableInsensitive(ctx, name)
	if err != nil || !ok {
		return nil, err
	}
	partitions, err := t.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	rows := gms.NewTableRowIter(ctx, t, partitions)
	defer rows.Close(ctx)
	columns := t.Schema()
	var sum uint64
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return sum & 0xffffffff, nil
		}
		if err != nil {
			return nil, err
		}
		crc := crc32.NewIEEE()
		for i, v := range row {
			if v == nil {
				crc.Write([]byte{0})
				continue
			}
			val, err := columns[i].Type.SQL(ctx, nil, v)
			if err != nil {
				return nil, err
			}
			b := val.ToBytes()
			crc.Write(binary.AppendUvarint([]byte{1}, uint64(len(b))))
			crc.Write(b)
		}
		sum += uint64(crc.Sum32())
	}
}
