package server

import (
	"strconv"
	"strings"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

var timeFunctions = []*function{
	{name: "addtime", min: 2, max: 2, result: types.LongText, call: func(ctx *gms.Context, args []any) (any, error) { return shift(ctx, args, 1) }},
	{name: "subtime", min: 2, max: 2, result: types.LongText, call: func(ctx *gms.Context, args []any) (any, error) { return shift(ctx, args, -1) }},
	{name: "sec_to_time", min: 1, max: 1, result: types.Time, call: func(ctx *gms.Context, args []any) (any, error) {
		sec, err := floatArg(ctx, args[0])
		return timespan(sec * 1e6), err
	}},
	{name: "maketime", min: 3, max: 3, result: types.Time, call: makeTime},
	{name: "makedate", min: 2, max: 2, result: types.Date, call: makeDate},
	{name: "to_seconds", min: 1, max: 1, result: types.Int64, call: toSeconds},
}

// maxTimespan is the largest TIME, 838:59:59, in microseconds.
const maxTimespan = (838*3600 + 59*60 + 59) * 1e6

func timespan(micros float64) types.Timespan {
	return types.Timespan(max(-maxTimespan, min(maxTimespan, micros)))
}

// shift adds a TIME to a TIME or a DATETIME, whichever the first argument is.
func shift(ctx *gms.Context, args []any, sign int64) (any, error) {
	by, err := duration(plain(args[1]))
	if err != nil {
		return nil, nil // MySQL: NULL and a warning
	}
	micros := sign * by.AsMicroseconds()
	text, isText := plain(args[0]).(string)
	_, isTime := args[0].(time.Time)
	if isTime || isText && strings.IndexByte(text, '-') > 0 {
		v, _, err := types.DatetimeMaxPrecision.Convert(ctx, plain(args[0]))
		if err != nil || v == nil {
			return nil, nil
		}
		t := v.(time.Time).Add(time.Duration(micros) * time.Microsecond)
		if t.Nanosecond() != 0 {
			return t.Format("2006-01-02 15:04:05.000000"), nil
		}
		return t.Format("2006-01-02 15:04:05"), nil
	}
	of, err := duration(plain(args[0]))
	if err != nil {
		return nil, nil
	}
	return timespan(float64(of.AsMicroseconds() + micros)).String(), nil
}

// duration is a TIME; as text it may begin with days.
func duration(v any) (types.Timespan, error) {
	text, _ := v.(string)
	days, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	n, err := strconv.Atoi(days)
	if !ok || err != nil {
		return types.Time.ConvertToTimespan(v)
	}
	t, err := types.Time.ConvertToTimespan(strings.TrimSpace(rest))
	micros := float64(t.AsMicroseconds())
	if n < 0 {
		micros = -micros
	}
	return timespan(float64(n)*86400e6 + micros), err
}

// plain is a text for bytes.
func plain(v any) any {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

// makeTime: MAKETIME(hour, minute, second); NULL when minute or second are none.
func makeTime(ctx *gms.Context, args []any) (any, error) {
	hour, minute, err := twoInts(ctx, args)
	if err != nil {
		return nil, err
	}
	second, err := floatArg(ctx, args[2])
	if err != nil {
		return nil, err
	}
	if minute < 0 || minute > 59 || second < 0 || second >= 60 {
		return nil, nil
	}
	micros := float64(max(hour, -hour))*3600e6 + float64(minute)*60e6 + second*1e6
	if hour < 0 {
		micros = -micros
	}
	return timespan(micros), nil
}

// makeDate: MAKEDATE(year, day of the year); NULL when the day is below 1.
func makeDate(ctx *gms.Context, args []any) (any, error) {
	year, day, err := twoInts(ctx, args)
	if err != nil {
		return nil, err
	}
	switch {
	case year >= 0 && year < 70:
		year += 2000
	case year >= 70 && year < 100:
		year += 1900
	}
	if day < 1 || day > 10000*366 || year < 0 || year > 9999 {
		return nil, nil
	}
	d := time.Date(int(year), 1, int(day), 0, 0, 0, 0, time.UTC)
	if d.Year() > 9999 {
		return nil, nil
	}
	return d, nil
}

// toSeconds: seconds since the year 0.
func toSeconds(ctx *gms.Context, args []any) (any, error) {
	v, _, err := types.DatetimeMaxPrecision.Convert(ctx, plain(args[0]))
	if err != nil || v == nil {
		return nil, nil
	}
	const daysToEpoch = 719528 // from 0000-00-00, as TO_DAYS counts, to 1970-01-01
	return v.(time.Time).Unix() + daysToEpoch*86400, nil
}
