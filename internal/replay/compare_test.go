package replay

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	a, err := ReadPoolDump(strings.NewReader("5,1\n5,2\n6,1\n"), "a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadPoolDump(strings.NewReader("5,2\r\n6,1\n7,9\n"), "b")
	if err != nil {
		t.Fatal(err)
	}
	c := Compare(a, b)
	if c.Primary != 3 || c.Standby != 3 || c.Both != 2 || len(c.Spaces) != 2 || c.Spaces[0] != (SpaceComparison{5, 2, 1}) {
		t.Errorf("got %+v", c)
	}
	if _, err := ReadPoolDump(strings.NewReader("5,1\nfoo\n"), "c"); err == nil || !strings.Contains(err.Error(), "c:2") {
		t.Errorf("got %v, want an error that names the line", err)
	}
}
