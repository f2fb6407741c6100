package slowlog

import "time"

// maxQueryTime is the longest time a statement is believed to have taken. A clock that is set back makes a negative time, which
// servers print as it is or, as an unsigned number, as some 584,542 years.
const maxQueryTime = 10 * 365 * 24 * time.Hour

// duration reads seconds with a fraction, "0.000311".
func duration(s []byte) time.Duration {
	if len(s) == 0 || s[0] == '-' {
		return 0
	}
	whole, rest := digits(s)
	if whole > uint64(maxQueryTime/time.Second) {
		return 0
	}
	return time.Duration(whole)*time.Second + fraction(rest)
}

// fraction reads ".000311", to the nanosecond.
func fraction(s []byte) time.Duration {
	if len(s) == 0 || s[0] != '.' {
		return 0
	}
	d, unit := time.Duration(0), time.Second
	for _, c := range s[1:] {
		if c < '0' || c > '9' || unit == 1 {
			break
		}
		unit /= 10
		d = d*10 + time.Duration(c-'0')
	}
	return d * unit
}

// number reads exactly len(s) digits.
func number(s []byte) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(s) > 0
}

// twoDigits reads the two at s[i:].
func twoDigits(s []byte, i int) (n int, ok bool) {
	tens, ones := s[i]-'0', s[i+1]-'0'
	return int(tens)*10 + int(ones), tens <= 9 && ones <= 9
}

// isoTime reads "2024-08-11T07:00:10.500000+02:00", with a fraction or none, with a zone or "Z".
func isoTime(s []byte) (t time.Time, ok bool) {
	const shape = "2006-01-02T15:04:05"
	if len(s) <= len(shape) || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, false
	}
	century, ok1 := twoDigits(s, 0)
	year, ok2 := twoDigits(s, 2)
	month, ok3 := twoDigits(s, 5)
	day, ok4 := twoDigits(s, 8)
	hour, ok5 := twoDigits(s, 11)
	minute, ok6 := twoDigits(s, 14)
	second, ok7 := twoDigits(s, 17)
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7) || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	year += century * 100
	s = s[len(shape):]
	nanos := fraction(s)
	if s[0] == '.' {
		_, s = digits(s[1:])
	}
	offset := 0
	switch {
	case len(s) == 1 && s[0] == 'Z':
	case len(s) == 6 && (s[0] == '+' || s[0] == '-') && s[3] == ':':
		h, ok1 := number(s[1:3])
		m, ok2 := number(s[4:6])
		if !ok1 || !ok2 {
			return time.Time{}, false
		}
		if offset = h*3600 + m*60; s[0] == '-' {
			offset = -offset
		}
	default:
		return time.Time{}, false
	}
	seconds := daysBefore(year, month, day)*86400 + int64(hour*3600+minute*60+second-offset)
	return time.Unix(seconds, int64(nanos)).UTC(), true
}

// daysBefore counts days from 1970-01-01 to a date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
func daysBefore(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return int64(era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468)
}

// legacyTime reads "150309  4:05:06.000789", the local time of a server whose zone is not told.
func legacyTime(s []byte, zone *time.Location) (t time.Time, ok bool) {
	if len(s) < len("150309 14:05:06") || s[6] != ' ' || s[9] != ':' || s[12] != ':' {
		return time.Time{}, false
	}
	clock := s[7:9]
	if clock[0] == ' ' {
		clock = clock[1:]
	}
	date, ok1 := number(s[:6])
	hour, ok2 := number(clock)
	minute, ok3 := number(s[10:12])
	second, ok4 := number(s[13:15])
	if !ok1 || !ok2 || !ok3 || !ok4 || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	return time.Date(2000+date/10000, time.Month(date/100%100), date%100, hour, minute, second, int(fraction(s[15:])), zone), true
}

// appendISO writes a time as MySQL does, in UTC, to the microsecond.
func appendISO(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
}
