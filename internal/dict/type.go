package dict

import (
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/proto/query"
)

// typeRecord is how the type of a column is stored: in parts, not as SQL, so that loading parses nothing.
type typeRecord struct {
	Kind      string  `json:"kind"`             // of typeKinds
	Length    int64   `json:"length,omitempty"` // characters of char and varchar, bytes of the other strings, bits of bit
	Precision int     `json:"precision,omitempty"`
	Scale     int     `json:"scale,omitempty"`
	Values    []text  `json:"values,omitempty"` // of enum and set
	Collation string  `json:"collation,omitempty"`
	SRID      *uint32 `json:"srid,omitempty"` // of the geometry kinds, if the column is bound to one
}

// simpleTypes have nothing but a kind.
var simpleTypes = map[string]gms.Type{
	"int8": types.Int8, "int16": types.Int16, "int24": types.Int24, "int32": types.Int32, "int64": types.Int64,
	"uint8": types.Uint8, "uint16": types.Uint16, "uint24": types.Uint24, "uint32": types.Uint32, "uint64": types.Uint64,
	"bool": types.Boolean, "float32": types.Float32, "float64": types.Float64,
	"year": types.Year, "time": types.Time, "json": types.JSON, "null": types.Null,
}

// stringTypes and the two maps behind it have parts besides.
var stringTypes = map[string]query.Type{
	"char": sqltypes.Char, "varchar": sqltypes.VarChar, "text": sqltypes.Text,
	"binary": sqltypes.Binary, "varbinary": sqltypes.VarBinary, "blob": sqltypes.Blob,
}

var datetimeTypes = map[string]query.Type{
	"date": sqltypes.Date, "datetime": sqltypes.Datetime, "timestamp": sqltypes.Timestamp,
}

var geometryTypes = map[string]gms.Type{
	"geometry": types.GeometryType{}, "point": types.PointType{}, "linestring": types.LineStringType{},
	"polygon": types.PolygonType{}, "multipoint": types.MultiPointType{}, "multilinestring": types.MultiLineStringType{},
	"multipolygon": types.MultiPolygonType{}, "geometrycollection": types.GeomCollType{},
}

// encodeType takes a type apart. It refuses types that are not of columns (tuples, bind variables, system variables).
func encodeType(t gms.Type) (typeRecord, error) {
	switch t := t.(type) {
	case types.StringType:
		r := typeRecord{Kind: kindOf(stringTypes, t.Type()), Length: t.MaxByteLength(), Collation: t.Collation().Name()}
		if r.Kind == "char" || r.Kind == "varchar" {
			r.Length = t.MaxCharacterLength()
		}
		return r, nil
	case types.EnumType:
		return typeRecord{Kind: "enum", Values: textsOf(t.Values()), Collation: t.Collation().Name()}, nil
	case types.SetType:
		return typeRecord{Kind: "set", Values: textsOf(t.Values()), Collation: t.Collation().Name()}, nil
	case types.BitType_:
		return typeRecord{Kind: "bit", Length: int64(t.NumberOfBits())}, nil
	case types.DecimalType_:
		return typeRecord{Kind: "decimal", Precision: int(t.Precision()), Scale: int(t.Scale())}, nil
	case gms.DatetimeType:
		return typeRecord{Kind: kindOf(datetimeTypes, t.Type()), Precision: t.Precision()}, nil
	case gms.SpatialColumnType:
		srid, defined := t.GetSpatialTypeSRID()
		for kind, plain := range geometryTypes {
			if plain.Equals(t.(gms.Type)) {
				r := typeRecord{Kind: kind}
				if defined {
					r.SRID = &srid
				}
				return r, nil
			}
		}
	default:
		for kind, simple := range simpleTypes {
			if simple == t {
				return typeRecord{Kind: kind}, nil
			}
		}
	}
	return typeRecord{}, fmt.Errorf("type %v (%T) cannot be that of a column", t, t)
}

// decode puts a type together.
func (r typeRecord) decode() (gms.Type, error) {
	if t, ok := simpleTypes[r.Kind]; ok {
		return t, nil
	}
	collation, err := gms.ParseCollation("", r.Collation, false)
	if err != nil {
		return nil, err
	}
	if base, ok := stringTypes[r.Kind]; ok {
		return types.CreateString(base, r.Length, collation)
	}
	if base, ok := datetimeTypes[r.Kind]; ok {
		return types.CreateDatetimeType(base, r.Precision)
	}
	if t, ok := geometryTypes[r.Kind]; ok {
		if r.SRID != nil {
			t = t.(gms.SpatialColumnType).SetSRID(*r.SRID)
		}
		return t, nil
	}
	switch r.Kind {
	case "enum":
		return types.CreateEnumType(stringsOf(r.Values), collation)
	case "set":
		return types.CreateSetType(stringsOf(r.Values), collation)
	case "bit":
		if r.Length < 0 || r.Length > types.BitTypeMaxBits {
			return nil, fmt.Errorf("%d is no number of bits", r.Length)
		}
		return types.CreateBitType(uint8(r.Length))
	case "decimal":
		if r.Precision < 0 || r.Precision > types.DecimalTypeMaxPrecision || r.Scale < 0 || r.Scale > r.Precision {
			return nil, fmt.Errorf("there is no decimal(%d,%d)", r.Precision, r.Scale)
		}
		return types.CreateColumnDecimalType(uint8(r.Precision), uint8(r.Scale))
	}
	return nil, fmt.Errorf("unknown type %q", r.Kind)
}

// kindOf looks up a map the other way round.
func kindOf(kinds map[string]query.Type, base query.Type) string {
	for kind, b := range kinds {
		if b == base {
			return kind
		}
	}
	panic(fmt.Sprintf("BUG: base type %v of a type that go-mysql-server does not make", base))
}
