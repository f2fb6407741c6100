package rows

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dolthub/go-mysql-server/sql/types"
)

// A geometry is stored as go-mysql-server and MySQL send it: its SRID, then WKB (well-known binary).
//
//	 0  SRID       u32, little-endian
//	 4  geometry
//
//	a geometry: byte order u8 (1, little-endian), type u32, and by type
//	  1 point                  x f64, y f64
//	  2 line string            count u32, points without byte order and type
//	  3 polygon                count u32, line strings without byte order and type
//	  4, 5, 6 multi-point, multi-line string, multi-polygon, 7 collection
//	                           count u32, geometries
//
// It is decoded here because go-mysql-server trusts the counts.

// maxGeometryDepth bounds the nesting of collections.
const maxGeometryDepth = 200

func (c *codec) appendGeometry(dst []byte, v any) ([]byte, error) {
	g, ok := v.(types.GeometryValue)
	if !ok {
		converted, err := c.convert(v)
		if err != nil {
			return dst, err
		}
		if g, ok = converted.(types.GeometryValue); !ok {
			return dst, fmt.Errorf("%s has a value of type %T, want a geometry", c.typ, converted)
		}
	}
	if d := geometryDepth(g); d > maxGeometryDepth {
		return dst, fmt.Errorf("a geometry collection nested %d deep, the limit is %d", d, maxGeometryDepth)
	}
	return append(dst, g.Serialize()...), nil
}

func geometryDepth(g types.GeometryValue) (depth int) {
	c, ok := g.(types.GeomColl)
	if !ok {
		return 0
	}
	for _, g := range c.Geoms {
		depth = max(depth, geometryDepth(g))
	}
	return depth + 1
}

func loadGeometry(b []byte) (any, error) {
	if len(b) < 4 {
		return nil, corrupt("geometry", "%d bytes", len(b))
	}
	r := wkb{srid: binary.LittleEndian.Uint32(b), rest: b[4:]}
	g := r.geometry(0)
	switch {
	case r.bad != "":
		return nil, corrupt("geometry", "%s", r.bad)
	case len(r.rest) > 0:
		return nil, corrupt("geometry", "%d bytes too many", len(r.rest))
	}
	return g, nil
}

// wkb reads a geometry. After the first mistake everything it returns is zero.
type wkb struct {
	srid uint32
	rest []byte
	bad  string // the first mistake
}

func (r *wkb) fail(what string) {
	if r.bad == "" {
		r.bad = what
	}
	r.rest = nil
}

func (r *wkb) u32() uint32 {
	if len(r.rest) < 4 {
		r.fail("cut off")
		return 0
	}
	x := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return x
}

// count is the number of things to come, which take at least size bytes each.
func (r *wkb) count(size int) int {
	n := int(r.u32())
	if n > len(r.rest)/size {
		r.fail("a count beyond the end")
		return 0
	}
	return n
}

// head is the type of the geometry to come.
func (r *wkb) head() uint32 {
	if len(r.rest) > 0 && r.rest[0] != 1 {
		r.fail("not little-endian")
		return 0
	}
	r.rest = r.rest[min(1, len(r.rest)):]
	return r.u32()
}

func (r *wkb) wantHead(want uint32) {
	if r.head() != want {
		r.fail("a part of another type")
	}
}

func (r *wkb) geometry(depth int) types.GeometryValue {
	const header = 5
	switch t := r.head(); t {
	case types.WKBPointID:
		return r.point()
	case types.WKBLineID:
		return r.line()
	case types.WKBPolyID:
		return r.polygon()
	case types.WKBMultiPointID:
		points := make([]types.Point, r.count(header+16))
		for i := range points {
			r.wantHead(types.WKBPointID)
			points[i] = r.point()
		}
		return types.MultiPoint{SRID: r.srid, Points: points}
	case types.WKBMultiLineID:
		lines := make([]types.LineString, r.count(header+4))
		for i := range lines {
			r.wantHead(types.WKBLineID)
			lines[i] = r.line()
		}
		return types.MultiLineString{SRID: r.srid, Lines: lines}
	case types.WKBMultiPolyID:
		polygons := make([]types.Polygon, r.count(header+4))
		for i := range polygons {
			r.wantHead(types.WKBPolyID)
			polygons[i] = r.polygon()
		}
		return types.MultiPolygon{SRID: r.srid, Polygons: polygons}
	case types.WKBGeomCollID:
		if depth == maxGeometryDepth {
			r.fail("collections nested too deep")
		}
		geoms := make([]types.GeometryValue, r.count(header))
		for i := range geoms {
			geoms[i] = r.geometry(depth + 1)
		}
		return types.GeomColl{SRID: r.srid, Geoms: geoms}
	default:
		r.fail(fmt.Sprintf("unknown type %d", t))
		return nil
	}
}

func (r *wkb) point() types.Point {
	if len(r.rest) < 16 {
		r.fail("cut off")
		return types.Point{}
	}
	x, y := binary.LittleEndian.Uint64(r.rest), binary.LittleEndian.Uint64(r.rest[8:])
	r.rest = r.rest[16:]
	return types.Point{SRID: r.srid, X: math.Float64frombits(x), Y: math.Float64frombits(y)}
}

func (r *wkb) line() types.LineString {
	points := make([]types.Point, r.count(16))
	for i := range points {
		points[i] = r.point()
	}
	return types.LineString{SRID: r.srid, Points: points}
}

func (r *wkb) polygon() types.Polygon {
	lines := make([]types.LineString, r.count(4))
	for i := range lines {
		lines[i] = r.line()
	}
	return types.Polygon{SRID: r.srid, Lines: lines}
}
