package rows

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"
)

// sample is a type and what its values look like.
type sample struct {
	typ      gms.Type
	boundary []any
	random   func(r *rand.Rand) any
}

// value is one of the boundaries or a random one.
func (s sample) value(r *rand.Rand) any {
	if len(s.boundary) > 0 && r.IntN(3) == 0 {
		return s.boundary[r.IntN(len(s.boundary))]
	}
	return s.random(r)
}

// keySamples are types that may be in keys.
func keySamples() []sample {
	samples := []sample{
		{types.Boolean, []any{int8(0), int8(1)}, func(r *rand.Rand) any { return int8(r.IntN(3)) }},
		{types.Int8, []any{int8(-128), int8(-1), int8(0), int8(127)}, func(r *rand.Rand) any { return int8(r.Uint32()) }},
		{types.Int16, []any{int16(-1 << 15), int16(-1), int16(0), int16(1<<15 - 1)}, func(r *rand.Rand) any { return int16(r.Uint32()) }},
		{types.Int24, []any{int32(-1 << 23), int32(-1), int32(0), int32(1<<23 - 1)}, func(r *rand.Rand) any { return int32(r.IntN(1<<24) - 1<<23) }},
		{types.Int32, []any{int32(math.MinInt32), int32(-1), int32(0), int32(math.MaxInt32)}, func(r *rand.Rand) any { return int32(r.Uint32()) }},
		{types.Int64, []any{int64(math.MinInt64), int64(-1), int64(0), int64(math.MaxInt64)}, func(r *rand.Rand) any { return int64(r.Uint64() >> r.IntN(64)) }},
		{types.Uint8, []any{uint8(0), uint8(255)}, func(r *rand.Rand) any { return uint8(r.Uint32()) }},
		{types.Uint16, []any{uint16(0), uint16(math.MaxUint16)}, func(r *rand.Rand) any { return uint16(r.Uint32()) }},
		{types.Uint24, []any{uint32(0), uint32(1<<24 - 1)}, func(r *rand.Rand) any { return uint32(r.IntN(1 << 24)) }},
		{types.Uint32, []any{uint32(0), uint32(math.MaxUint32)}, func(r *rand.Rand) any { return r.Uint32() }},
		{types.Uint64, []any{uint64(0), uint64(1 << 63), uint64(math.MaxUint64)}, func(r *rand.Rand) any { return r.Uint64() >> r.IntN(64) }},
		{types.Float32,
			[]any{float32(0), float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.MaxFloat32), float32(math.SmallestNonzeroFloat32)},
			func(r *rand.Rand) any { return float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30))) }},
		{types.Float64,
			[]any{0.0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64},
			func(r *rand.Rand) any { return r.NormFloat64() * math.Pow(10, float64(r.IntN(600)-300)) }},
		{types.Time, []any{types.Timespan(-3020399000000), types.Timespan(-1), types.Timespan(0), types.Timespan(3020399000000)},
			func(r *rand.Rand) any { return types.Timespan(r.Int64N(2*3020399000000) - 3020399000000) }},
		{types.Year, []any{int16(0), int16(1901), int16(2155)}, func(r *rand.Rand) any { return int16(1901 + r.IntN(255)) }},
		{types.MustCreateEnumType([]string{"z", "a", "m"}, gms.Collation_utf8mb4_0900_ai_ci), []any{uint16(0)}, func(r *rand.Rand) any { return uint16(r.IntN(4)) }},
		temporal(types.Date, 24*time.Hour), temporal(types.Datetime, time.Second), temporal(types.DatetimeMaxPrecision, time.Microsecond),
		temporal(types.MustCreateDatetimeType(sqltypes.Datetime, 3), time.Millisecond), temporal(types.Timestamp, time.Second), temporal(types.TimestampMaxPrecision, time.Microsecond),
		set(1), set(8), set(9), set(64),
	}
	for bits := uint8(1); bits <= 64; bits++ {
		max := uint64(math.MaxUint64) >> (64 - bits)
		samples = append(samples, sample{types.MustCreateBitType(bits), []any{uint64(0), max}, func(r *rand.Rand) any { return r.Uint64() & max }})
	}
	for _, d := range [][2]uint8{{1, 0}, {2, 2}, {5, 2}, {10, 0}, {18, 0}, {18, 18}, {19, 4}, {30, 30}, {38, 10}, {65, 0}, {65, 30}} {
		samples = append(samples, decimals(d[0], d[1]))
	}
	for _, id := range sampleCollations {
		samples = append(samples, text(types.MustCreateString(sqltypes.VarChar, 200, id)))
	}
	samples = append(samples, text(types.MustCreateString(sqltypes.Char, 200, gms.Collation_utf8mb4_0900_ai_ci)), text(types.Text))
	for _, t := range []gms.StringType{types.MustCreateBinary(sqltypes.VarBinary, 100), types.Blob} {
		samples = append(samples, sample{t, []any{[]byte{}, []byte{0}, []byte{0, 0}, []byte{1}, []byte{0, 1}, []byte{255}, []byte("a"), []byte("a\x00")},
			func(r *rand.Rand) any {
				b := make([]byte, r.IntN(6))
				for i := range b {
					b[i] = []byte{0, 1, 2, 255, 'a', byte(r.Uint32())}[r.IntN(6)]
				}
				return b
			}})
	}
	samples = append(samples, sample{types.MustCreateBinary(sqltypes.Binary, 3), []any{[]byte("a\x00\x00"), []byte("\x00\x00\x00")}, func(r *rand.Rand) any {
		return []byte{byte(r.IntN(3)), byte(r.IntN(256)), byte(r.IntN(2))}
	}})
	return samples
}

// rowSamples are all types.
func rowSamples() []sample {
	return append(keySamples(),
		sample{types.JSON, []any{types.JSONDocument{}, types.MustJSON(`{"a": [1, 2.5, null, true], "é": ""}`), types.MustJSON(`"x"`), types.MustJSON(`[]`)}, func(r *rand.Rand) any {
			return types.JSONDocument{Val: []any{float64(r.IntN(1000)), "s", map[string]any{"k": r.Float64()}}}
		}},
		sample{types.GeometryType{}, nil, func(r *rand.Rand) any { return geometries[r.IntN(len(geometries))] }},
		sample{types.PointType{}, nil, func(r *rand.Rand) any { return types.Point{SRID: 4326, X: r.Float64(), Y: r.Float64()} }},
	)
}

var sampleCollations = []gms.CollationID{
	gms.Collation_utf8mb4_0900_bin, gms.Collation_utf8mb4_bin, gms.Collation_utf16_bin, gms.Collation_utf32_bin, gms.Collation_utf8mb3_bin,
	gms.Collation_utf8mb4_general_ci, gms.Collation_utf8mb4_0900_ai_ci, gms.Collation_utf8mb4_0900_as_cs, gms.Collation_utf8mb4_unicode_ci,
	gms.Collation_utf8mb4_ja_0900_as_cs, gms.Collation_utf8mb3_general_ci, gms.Collation_latin1_swedish_ci, gms.Collation_latin1_bin,
	gms.Collation_ascii_general_ci, gms.Collation_ascii_bin,
}

func temporal(t gms.DatetimeType, grain time.Duration) sample {
	first, last := t.MinimumTime(), t.MaximumTime().Truncate(grain)
	span := last.Unix() - first.Unix()
	return sample{t, []any{t.Zero(), first, last, last.Add(-grain), time.Unix(0, 0).UTC().Add(grain), time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)}, func(r *rand.Rand) any {
		return time.Unix(first.Unix()+r.Int64N(span), r.Int64N(1e9)).UTC().Truncate(grain)
	}}
}

func set(n int) sample {
	var names []string
	for i := range n {
		names = append(names, strings.Repeat("x", i+1))
	}
	all := uint64(math.MaxUint64) >> (64 - n)
	return sample{types.MustCreateSetType(names, gms.Collation_utf8mb4_0900_bin), []any{uint64(0), all}, func(r *rand.Rand) any { return r.Uint64() & all }}
}

func decimals(precision, scale uint8) sample {
	t := types.MustCreateColumnDecimalType(precision, scale)
	nines := strings.Repeat("9", int(precision))
	largest, _ := decimal.NewFromString(nines)
	largest = largest.Shift(-int32(scale))
	unit := decimal.New(1, -int32(scale))
	return sample{t, []any{decimal.Decimal{}, decimal.New(0, -int32(scale)), largest, largest.Neg(), largest.Sub(unit), unit, unit.Neg()}, func(r *rand.Rand) any {
		digits := make([]byte, 1+r.IntN(int(precision)))
		for i := range digits {
			digits[i] = byte('0' + r.IntN(10))
		}
		d, _ := decimal.NewFromString(string(digits))
		d = d.Shift(-int32(scale))
		if r.IntN(4) == 0 {
			d, _ = decimal.NewFromString(d.String()) // another exponent for the same number
		}
		if r.IntN(2) == 0 {
			d = d.Neg()
		}
		return d
	}}
}

// scraps are what generated texts are made of.
var scraps = []string{"", "a", "A", "b", "Z", " ", "\x00", "\x01", "\x02", "\x7f", "é", "E", "e\u0301", "ß", "ss", "Å", "日本", "ｱ", "ア", "가", "\ufffd", "\ue000", "\ud7ff",
	"\uffff", "😀", "😁", "\U0010ffff", "𝔞", "ﬀ", "ı", "I", "9", "_", "\u2028"}

func text(t gms.StringType) sample {
	var boundary []any
	for _, s := range scraps {
		boundary = append(boundary, s, s+" ", s+s)
	}
	return sample{t, boundary, func(r *rand.Rand) any {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(scraps[r.IntN(len(scraps))])
		}
		return b.String()
	}}
}

var (
	line     = types.LineString{Points: []types.Point{{X: 1, Y: 2}, {X: 3, Y: -4}}}
	ring     = types.LineString{Points: []types.Point{{X: 0, Y: 0}, {X: 0, Y: 1}, {X: 1, Y: 1}, {X: 0, Y: 0}}}
	polygon  = types.Polygon{Lines: []types.LineString{ring, ring}}
	multi    = types.MultiPoint{Points: []types.Point{{X: 1, Y: 2}, {X: 3, Y: -4}}}
	simple   = []types.GeometryValue{types.Point{X: 1, Y: math.Inf(-1)}, line, polygon, multi, types.MultiLineString{Lines: []types.LineString{line, ring}}, types.MultiPolygon{Polygons: []types.Polygon{polygon}}}
	everyOne = types.GeomColl{Geoms: append([]types.GeometryValue{types.GeomColl{Geoms: []types.GeometryValue{}}}, simple...)}

	geometries = append([]types.GeometryValue{everyOne, everyOne.SetSRID(4326), polygon.SetSRID(4326), types.GeomColl{Geoms: []types.GeometryValue{}}}, simple...)
)

// newRand makes a generator whose seed is in the test's log.
func newRand(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func compare(t testing.TB, typ gms.Type, a, b any) int {
	t.Helper()
	c, err := typ.Compare(context.Background(), a, b)
	if err != nil {
		t.Fatalf("%s: comparing %#v and %#v: %v", typ, a, b, err)
	}
	return c
}

func mustTable(t testing.TB, cols []Column, primary ...Part) *Table {
	t.Helper()
	table, err := NewTable(cols, primary)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
