package server

import (
	"io"
	"unicode/utf8"
	"unsafe"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
)

// result of one statement on its way to the client.
//
// Rows go in batches. The last one, and an answer without rows, is held back until the statement has ended with all its books
// kept: a commit that fails can still be told as an error, and the status flags are those after the statement.
//
// The library copies a batch while it takes it, so its memory is used again for the next. Not so for a cursor: there the library
// keeps a batch until the client asks for its rows, while the connection serves other statements. All rows of a cursor are
// therefore read before the first goes out, into memory that is not used again, and the statement ends. MySQL does the same with a
// temporary table.
type result struct {
	cl    *client
	st    *statement
	cmd   command
	more  bool // another statement follows in the same text
	began bool // something has been sent

	fields []*querypb.Field
	rows   [][]sqltypes.Value // of the batch that is filled
	values []sqltypes.Value   // memory of its rows
	bytes  []byte             // memory of its values
	used   int                // bytes in the batch

	whole *mysqlResult   // an answer without rows
	kept  []*mysqlResult // a cursor's batches
	held  int64          // bytes in them
}

type mysqlResult = sqltypes.Result

// Bounds of a batch: after either, it goes out.
const (
	batchRows  = 128
	batchBytes = 64 << 10

	minBatchBytes = 1 << 10 // what a batch begins with
)

func newResult(cl *client, st *statement, cmd command, more bool) *result {
	return &result{cl: cl, st: st, cmd: cmd, more: more}
}

// ok makes the answer one without rows.
func (r *result) ok(affected uint64) error {
	r.whole = &mysqlResult{RowsAffected: affected}
	return nil
}

// send reads all rows, and sends what does not fit into the last batch.
func (r *result) send(sc *gms.Context, schema gms.Schema, rows gms.RowIter) error {
	limit := r.cl.server.memory.perStatement
	for {
		row, err := rows.Next(sc)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if types.IsOkResult(row) {
			ok := row[0].(types.OkResult)
			r.whole = &mysqlResult{RowsAffected: ok.RowsAffected, InsertID: ok.InsertID}
			if ok.Info != nil {
				r.whole.Info = ok.Info.String()
			}
			continue
		}
		if len(schema) == 0 {
			continue // a block of a procedure that selects nothing
		}
		if r.fields == nil {
			r.fields = fieldsOf(sc, schema)
		}
		if len(r.rows) == batchRows || r.used >= batchBytes {
			if err := r.batch(limit); err != nil {
				return err
			}
		}
		if err := r.add(sc, schema, row); err != nil {
			return err
		}
	}
	if r.whole == nil && r.fields == nil {
		if len(schema) == 0 || types.IsOkResultSchema(schema) {
			return r.ok(0)
		}
		r.fields = fieldsOf(sc, schema)
	}
	return nil
}

// add puts a row into the batch.
func (r *result) add(sc *gms.Context, schema gms.Schema, row gms.Row) error {
	if cap(r.values)-len(r.values) < len(schema) {
		r.values = make([]sqltypes.Value, 0, max(batchRows/4, 1)*len(schema))
	}
	begin := len(r.values)
	size := 0
	for i, col := range schema {
		if row[i] == nil {
			r.values = append(r.values, sqltypes.NULL)
			size++
			continue
		}
		v, err := col.Type.SQL(sc, r.room(), row[i])
		if err != nil {
			return err
		}
		r.took(v)
		size += v.Len()
		r.values = append(r.values, v)
	}
	if int64(size) > r.cl.vars.maxPacket {
		return errPacketTooLarge
	}
	r.rows = append(r.rows, r.values[begin:len(r.values):len(r.values)])
	r.used += size
	r.st.sent++
	return nil
}

// minRoom is how much of the batch's memory a value is offered at least: the longest number or time.
const minRoom = 64

// room is unused memory, to which a type appends its value.
func (r *result) room() []byte {
	if cap(r.bytes)-len(r.bytes) < minRoom {
		r.bytes = make([]byte, 0, min(batchBytes, max(minBatchBytes, 2*cap(r.bytes))))
	}
	return r.bytes[len(r.bytes):]
}

// took: the value has taken the room, unless it was too large for it or lies elsewhere.
func (r *result) took(v sqltypes.Value) {
	raw := v.Raw()
	if free := r.bytes[len(r.bytes):cap(r.bytes)]; len(raw) > 0 && len(raw) <= len(free) && unsafe.SliceData(raw) == unsafe.SliceData(free) {
		r.bytes = r.bytes[:len(r.bytes)+len(raw)]
	}
}

// batch sends what there is, or keeps it for a cursor.
func (r *result) batch(limit int64) error {
	if err := r.st.why(); err != nil {
		return err
	}
	out := &mysqlResult{Fields: r.fields, Rows: r.rows}
	if r.cmd.cursor {
		r.held += int64(r.used) + int64(len(r.rows)*len(r.fields))*int64(unsafe.Sizeof(sqltypes.Value{}))
		r.st.memory.Add(int64(r.used))
		if r.held > limit {
			return errMemory
		}
		r.kept = append(r.kept, out)
		r.rows, r.values, r.bytes, r.used = nil, nil, nil, 0
		return nil
	}
	r.began = true
	if err := r.cmd.send(out, r.more); err != nil {
		return err
	}
	r.rows, r.values, r.bytes, r.used = r.rows[:0], r.values[:0], r.bytes[:0], 0
	return nil
}

// finish sends what was held back.
func (r *result) finish() error {
	if r.whole != nil && r.fields == nil {
		if r.whole.Info != "" {
			if err := r.cl.conn.FlushBuffer(); err != nil {
				return err
			}
			r.cl.wire.textInOK(len(r.whole.Info))
		}
		return r.cmd.send(r.whole, r.more)
	}
	for _, k := range r.kept {
		if err := r.cmd.send(k, r.more); err != nil {
			return err
		}
	}
	if len(r.kept) > 0 && len(r.rows) == 0 {
		return nil
	}
	return r.cmd.send(&mysqlResult{Fields: r.fields, Rows: r.rows}, r.more)
}

// maxFieldName is how many bytes of an expression are the name of its column, as in MySQL.
const maxFieldName = 256

func shortName(name string) string {
	if len(name) <= maxFieldName {
		return name
	}
	end := maxFieldName
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// fieldsOf describes the columns of a result.
func fieldsOf(sc *gms.Context, schema gms.Schema) []*querypb.Field {
	results := sc.GetCharacterSetResults()
	all := make([]querypb.Field, len(schema))
	fields := make([]*querypb.Field, len(schema))
	for i, c := range schema {
		charset := uint32(gms.Collation_Default.CharacterSet())
		if t, ok := c.Type.(gms.TypeWithCollation); ok {
			charset = uint32(t.Collation().CharacterSet())
		}
		switch {
		case types.IsBinaryType(c.Type), types.IsBit(c.Type):
			charset = uint32(gms.Collation_binary)
		case results != gms.CharacterSet_Unspecified:
			charset = uint32(results)
		}
		var flags querypb.MySqlFlag
		if !c.Nullable {
			flags |= querypb.MySqlFlag_NOT_NULL_FLAG
		}
		if c.AutoIncrement {
			flags |= querypb.MySqlFlag_AUTO_INCREMENT_FLAG
		}
		if c.PrimaryKey {
			flags |= querypb.MySqlFlag_PRI_KEY_FLAG
		}
		if types.IsUnsigned(c.Type) {
			flags |= querypb.MySqlFlag_UNSIGNED_FLAG
		}
		if types.IsBinaryType(c.Type) {
			flags |= querypb.MySqlFlag_BINARY_FLAG
		}
		f := &all[i]
		f.Name = shortName(c.Name)
		f.OrgName = f.Name
		f.Table, f.OrgTable, f.Database = c.Source, c.Source, c.DatabaseSource
		f.Type = c.Type.Type()
		f.Charset = charset
		f.ColumnLength = c.Type.MaxTextResponseByteLength(sc)
		f.Flags = uint32(flags)
		switch t := c.Type.(type) {
		case gms.DecimalType:
			f.Decimals = uint32(t.Scale())
		case gms.DatetimeType:
			f.Decimals = uint32(t.Precision())
		}
		fields[i] = f
	}
	return fields
}
