package rows

import "time"

// DATE and DATETIME are years 0 to 9999; 0000-01-01 is what go-mysql-server has for the zero date.
const (
	secondsOfDay = 24 * 60 * 60
	firstSecond  = -62167219200 // 0000-01-01 00:00:00 UTC in Unix time
	endSecond    = 253402300800 // 10000-01-01 00:00:00 UTC
)

// grain is the distance, in nanoseconds, of the values of a temporal type with 0 to 6 digits of fractions.
func grain(digits int) int {
	g := int(time.Second)
	for range digits {
		g /= 10
	}
	return g
}

// dayOf is the day of a time.Time since 1970-01-01. Hours are cut off, as in comparisons of DATEs.
func dayOf(v any) (days int32, ok bool) {
	t, ok := v.(time.Time)
	s := t.Unix()
	if !ok || s < firstSecond || s >= endSecond {
		return 0, false
	}
	// Days are counted from day 0 of the calendar, so that the division rounds down.
	return int32((s-firstSecond)/secondsOfDay + firstSecond/secondsOfDay), true
}

func timeOfDay(days int32) (t time.Time, ok bool) {
	s := int64(days) * secondsOfDay
	return time.Unix(s, 0).UTC(), s >= firstSecond && s < endSecond
}

// microsecondsOf is the Unix time of a time.Time that lies on the grain.
func microsecondsOf(v any, grain int) (us int64, ok bool) {
	t, ok := v.(time.Time)
	s := t.Unix()
	if !ok || s < firstSecond || s >= endSecond || t.Nanosecond()%grain != 0 {
		return 0, false
	}
	return t.UnixMicro(), true
}

func timeOfMicroseconds(us int64) (t time.Time, ok bool) {
	return time.UnixMicro(us).UTC(), us >= firstSecond*1e6 && us < endSecond*1e6
}
