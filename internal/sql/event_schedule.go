package sql

import (
	"fmt"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth/internal/dict"
)

// When an event is due, as MySQL has it:
//
//	AT t           once, at t; when the server was down then, as soon as it is up
//	EVERY i        at STARTS, STARTS + i, STARTS + 2i, ...: months and days by the calendar of the server's time zone, the last day of
//	               a month that has no such day; what the server missed is left out
//	ENDS           the last time it can be due
//
// An event that will never be due again is over: it is dropped, or with ON COMPLETION PRESERVE disabled.

// NextDue is when the event is due, at from or later, and after it was last executed; over: never again. Times are whole seconds.
func NextDue(e *dict.Event, from time.Time) (due time.Time, over bool, err error) {
	if e.HasExecuteAt {
		return e.ExecuteAt, !e.LastExecuted.IsZero() && !e.LastExecuted.Before(e.ExecuteAt), nil
	}
	every, err := parsePeriod(e.ExecuteEvery)
	if err != nil {
		return time.Time{}, false, err
	}
	from = from.Truncate(time.Second)
	if last := e.LastExecuted.Truncate(time.Second); !e.LastExecuted.IsZero() && !last.Before(from) {
		from = last.Add(time.Second)
	}
	start := e.Starts.Truncate(time.Second).In(time.Local)
	// The first n for which start + n intervals is not before from: below is too early, above is not.
	below, above := int64(-1), int64(0)
	for every.after(start, above).Before(from) {
		below, above = above, max(1, 2*above)
	}
	for above-below > 1 {
		if middle := below + (above-below)/2; every.after(start, middle).Before(from) {
			below = middle
		} else {
			above = middle
		}
	}
	due = every.after(start, above)
	return due, e.HasEnds && due.After(e.Ends), nil
}

// period of the calendar.
type period struct{ months, days, seconds int64 }

// maxInterval bounds each part of an interval: MySQL's bound.
const maxInterval = 1<<31 - 1

// errInterval is MySQL's for an interval that is no time at all, or too long.
var errInterval = mysql.NewSQLError(1542, "HY000", "%s", "INTERVAL is either not positive or too big")

// parsePeriod reads one as GMS writes it: `4 HOUR`, `'1:2' DAY_HOUR`.
func parsePeriod(text string) (period, error) {
	e, err := gms.EventOnScheduleEveryIntervalFromString(text)
	if err != nil {
		return period{}, fmt.Errorf("interval %q of an event: %w", text, err)
	}
	for _, n := range []int64{e.Years, e.Months, e.Days, e.Hours, e.Minutes, e.Seconds} {
		if n < 0 || n > maxInterval {
			return period{}, errInterval
		}
	}
	p := period{e.Years*12 + e.Months, e.Days, e.Hours*3600 + e.Minutes*60 + e.Seconds}
	if p == (period{}) {
		return p, errInterval
	}
	return p, nil
}

// after is t and n periods. Months go first and stay in their month, then days, both by the calendar of t's zone; then seconds.
func (p period) after(t time.Time, n int64) time.Time {
	year, month, day := t.Date()
	months := int64(year)*12 + int64(month-1) + n*p.months
	year, month = int(months/12), time.Month(months%12+1)
	if p.months != 0 {
		day = min(day, time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day())
	}
	at := time.Date(year, month, day+int(n*p.days), t.Hour(), t.Minute(), t.Second(), 0, t.Location())
	return time.Unix(at.Unix()+n*p.seconds, 0).In(t.Location())
}
