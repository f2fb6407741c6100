package main

import (
	"fmt"
	"strconv"
	"strings"
)

// size is a number of bytes on the command line: "4GiB", "256MiB", "65536".
type size int64

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"", 1}}

func (s *size) UnmarshalText(text []byte) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > (1<<63-1)/u.bytes {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size; write for example 256MiB or 4GiB", text)
}
