package server

import (
	"strconv"
	"strings"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

var stringFunctions = []*function{
	{name: "insert", min: 4, max: 4, result: types.LongText, call: insert},
	{name: "make_set", min: 2, max: -1, result: types.LongText, nulls: true, call: makeSet},
	{name: "export_set", min: 3, max: 5, result: types.LongText, call: exportSet},
	{name: "oct", min: 1, max: 1, result: types.LongText, call: func(ctx *gms.Context, args []any) (any, error) {
		n, err := intArg(ctx, args[0])
		return strconv.FormatUint(uint64(n), 8), err
	}},
	{name: "format_bytes", min: 1, max: 1, result: types.LongText, call: formatBytes},
	{name: "format_pico_time", min: 1, max: 1, result: types.LongText, call: formatPicoTime},
}

// insert: INSERT(str, pos, len, newstr), positions in characters from 1. A position outside leaves str as it is.
func insert(ctx *gms.Context, args []any) (any, error) {
	text, err := textArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	pos, err := intArg(ctx, args[1])
	if err != nil {
		return nil, err
	}
	length, err := intArg(ctx, args[2])
	if err != nil {
		return nil, err
	}
	with, err := textArg(ctx, args[3])
	if err != nil {
		return nil, err
	}
	chars := int64(utf8.RuneCountInString(text))
	if pos < 1 || pos > chars {
		return text, nil
	}
	runes := []rune(text)
	rest := chars - (pos - 1)
	if length < 0 || length > rest {
		length = rest
	}
	return string(runes[:pos-1]) + with + string(runes[pos-1+length:]), nil
}

// makeSet: MAKE_SET(bits, s1, s2, ...), the strings whose bits are set. NULL strings are left out.
func makeSet(ctx *gms.Context, args []any) (any, error) {
	if args[0] == nil {
		return nil, nil
	}
	bits, err := intArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	var list []string
	for i, a := range args[1:] {
		if i >= 64 {
			break
		}
		if a == nil || uint64(bits)>>i&1 == 0 {
			continue
		}
		s, err := textArg(ctx, a)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return strings.Join(list, ","), nil
}

// exportSet: EXPORT_SET(bits, on, off[, separator[, number of bits]]).
func exportSet(ctx *gms.Context, args []any) (any, error) {
	bits, err := intArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	on, err := textArg(ctx, args[1])
	if err != nil {
		return nil, err
	}
	off, err := textArg(ctx, args[2])
	if err != nil {
		return nil, err
	}
	separator, number := ",", int64(64)
	if len(args) > 3 {
		if separator, err = textArg(ctx, args[3]); err != nil {
			return nil, err
		}
	}
	if len(args) > 4 {
		if number, err = intArg(ctx, args[4]); err != nil {
			return nil, err
		}
		if number < 0 || number > 64 {
			number = 64
		}
	}
	list := make([]string, number)
	for i := range list {
		if list[i] = off; uint64(bits)>>i&1 == 1 {
			list[i] = on
		}
	}
	return strings.Join(list, separator), nil
}

func formatBytes(ctx *gms.Context, args []any) (any, error) {
	n, err := floatArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	abs := max(n, -n)
	if abs < 1024 {
		return pad(strconv.FormatFloat(n, 'f', 0, 64), 4) + " bytes", nil
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := -1
	for ; abs >= 1024 && i < len(units)-1; i++ {
		abs, n = abs/1024, n/1024
	}
	return pad(strconv.FormatFloat(n, 'f', 2, 64), 4) + " " + units[i], nil
}

func formatPicoTime(ctx *gms.Context, args []any) (any, error) {
	n, err := floatArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	if max(n, -n) < 1000 {
		return pad(strconv.FormatFloat(n, 'f', 0, 64), 3) + " ps", nil
	}
	units := []struct {
		name string
		size float64 // in picoseconds
	}{{"d", 86400e12}, {"h", 3600e12}, {"min", 60e12}, {"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}}
	for _, u := range units {
		if max(n, -n) >= u.size {
			return pad(strconv.FormatFloat(n/u.size, 'f', 2, 64), 4) + " " + u.name, nil
		}
	}
	panic("BUG: a time of 1000 ps or more has no unit")
}

func pad(s string, width int) string {
	return strings.Repeat(" ", max(0, width-len(s))) + s
}
