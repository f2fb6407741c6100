package heat

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

// TestDescribe: a dump is told band by band and tree by tree, and one that is not whole not at all.
func TestDescribe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	put := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(smallDump())
	d, err := Describe(name)
	want := Description{
		File: name, UUID: "01020300000000000000000000000000", LSN: 77, At: time.Unix(1_700_000_000, 5), Frames: 1000, Pages: 5, Bytes: 5 * page.Size,
		Bands:  []BandDescription{{64, 2}, {2, 3}},
		Spaces: []SpaceDescription{{1, 1, []uint64{0, 1}}, {16, 3, []uint64{1, 2}}, {17, 1, []uint64{1}}},
	}
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("got\n%+v, %v, want\n%+v", d, err, want)
	}
	put(dumpOf(nil, nil))
	if d, err := Describe(name); err != nil || d.Pages != 0 || d.Bands == nil || d.Spaces == nil {
		t.Errorf("an empty dump: %+v, %v", d, err)
	}
	put(smallDump()[:60])
	var damaged *DamagedError
	if d, err := Describe(name); !errors.As(err, &damaged) || !reflect.DeepEqual(d, Description{}) {
		t.Errorf("a part of a dump: %+v, %v", d, err)
	}
}
