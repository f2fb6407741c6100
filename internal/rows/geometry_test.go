package rows

import (
	"errors"
	"testing"

	"github.com/dolthub/go-mysql-server/sql/types"
)

// TestGeometryDepth: what is nested too deep to be read is not written.
func TestGeometryDepth(t *testing.T) {
	c, err := newCodec(types.GeometryType{})
	if err != nil {
		t.Fatal(err)
	}
	nested := func(n int) types.GeometryValue {
		g := types.GeomColl{Geoms: []types.GeometryValue{}}
		for range n - 1 {
			g = types.GeomColl{Geoms: []types.GeometryValue{g}}
		}
		return g
	}
	b, err := c.appendVar(nil, nested(maxGeometryDepth))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loadGeometry(b); err != nil {
		t.Errorf("nested %d deep: %v", maxGeometryDepth, err)
	}
	if _, err := c.appendVar(nil, nested(maxGeometryDepth+1)); err == nil {
		t.Errorf("nested %d deep was taken", maxGeometryDepth+1)
	}
	var bad *CorruptError
	if _, err := loadGeometry(nested(maxGeometryDepth + 1).Serialize()); !errors.As(err, &bad) {
		t.Errorf("nested %d deep: error %v", maxGeometryDepth+1, err)
	}
}

// TestGeometryCorrupt: no byte of a geometry can be cut off or trusted.
func TestGeometryCorrupt(t *testing.T) {
	r := newRand(t)
	var bad *CorruptError
	for _, g := range geometries {
		good := g.Serialize()
		for n := range good {
			if _, err := loadGeometry(good[:n]); !errors.As(err, &bad) {
				t.Errorf("%T: %d of %d bytes: error %v", g, n, len(good), err)
			}
		}
		for range 2000 {
			b := append([]byte(nil), good...)
			b[r.IntN(len(b))] = byte(r.Uint32())
			if _, err := loadGeometry(b); err != nil && !errors.As(err, &bad) {
				t.Fatalf("%x: error %v", b, err)
			}
		}
	}
}
