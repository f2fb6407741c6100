package sql

import (
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/dict"
)

// TestNextDue: times of the calendar, what was missed, and the end.
func TestNextDue(t *testing.T) {
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		v, err := time.ParseInLocation(time.DateTime, text, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name, every, starts, ends, last, from, want string
	}{
		{"not yet", "1 DAY", "2030-01-01 00:00:00", "", "", "2029-12-30 12:00:00", "2030-01-01 00:00:00"},
		{"at once", "1 DAY", "2030-01-01 00:00:00", "", "", "2030-01-01 00:00:00", "2030-01-01 00:00:00"},
		{"executed", "1 DAY", "2030-01-01 00:00:00", "", "2030-01-01 00:00:00", "2030-01-01 00:00:00", "2030-01-02 00:00:00"},
		{"missed", "10 SECOND", "2030-01-01 00:00:03", "", "2030-01-01 00:00:03", "2031-01-01 00:00:00", "2031-01-01 00:00:03"},
		{"short months", "1 MONTH", "2030-01-31 10:00:00", "", "", "2030-02-01 00:00:00", "2030-02-28 10:00:00"},
		{"long after short", "1 MONTH", "2030-01-31 10:00:00", "", "2030-02-28 10:00:00", "2030-02-28 10:00:01", "2030-03-31 10:00:00"},
		{"leap day", "1 YEAR", "2028-02-29 10:00:00", "", "", "2031-01-01 00:00:00", "2031-02-28 10:00:00"},
		{"the next leap day", "1 YEAR", "2028-02-29 10:00:00", "", "", "2031-03-01 00:00:00", "2032-02-29 10:00:00"},
		{"quarters", "3 MONTH", "2030-11-30 00:00:00", "", "", "2030-12-01 00:00:00", "2031-02-28 00:00:00"},
		{"mixed", "'1:2' DAY_HOUR", "2030-01-01 00:00:00", "", "", "2030-01-02 00:00:00", "2030-01-02 02:00:00"},
		{"the end itself", "1 HOUR", "2030-01-01 00:00:00", "2030-01-01 02:00:00", "", "2030-01-01 01:30:00", "2030-01-01 02:00:00"},
		{"over", "1 HOUR", "2030-01-01 00:00:00", "2030-01-01 02:00:00", "", "2030-01-01 02:00:01", ""},
		{"long ago", "1 SECOND", "1971-01-01 00:00:00", "", "", "2030-01-01 00:00:00", "2030-01-01 00:00:00"},
		{"far apart", "2147483647 DAY", "2030-01-01 00:00:00", "2031-01-01 00:00:00", "2030-01-01 00:00:00", "2030-01-01 00:00:00", ""},
	} {
		e := &dict.Event{ExecuteEvery: c.every, Starts: at(c.starts), HasEnds: c.ends != "", Ends: at(c.ends), LastExecuted: at(c.last)}
		due, over, err := NextDue(e, at(c.from))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if over != (c.want == "") || !over && !due.Equal(at(c.want)) {
			t.Errorf("%s: due %v, over %v, want %q", c.name, due, over, c.want)
		}
	}
	once := &dict.Event{HasExecuteAt: true, ExecuteAt: at("2030-01-01 00:00:00")}
	if due, over, _ := NextDue(once, at("2031-01-01 00:00:00")); over || !due.Equal(once.ExecuteAt) {
		t.Errorf("missed: due %v, over %v", due, over)
	}
	once.LastExecuted = at("2031-01-01 00:00:00")
	if _, over, _ := NextDue(once, at("2031-01-01 00:00:00")); !over {
		t.Error("executed, and not over")
	}
	for _, every := range []string{"0 SECOND", "-1 DAY", "2147483648 SECOND", "x", "", "1 CENTURY"} {
		if _, _, err := NextDue(&dict.Event{ExecuteEvery: every}, time.Now()); err == nil {
			t.Errorf("interval %q: no error", every)
		}
	}
}

// TestDaysAndHoursOfTheCalendar: where clocks are changed, a day stays at its hour and an hour has its 3600 seconds.
func TestDaysAndHoursOfTheCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	start := time.Date(2030, 3, 30, 3, 30, 0, 0, berlin) // the night after has no 02:30
	if got := (period{days: 1}).after(start, 1); got.Sub(start) != 23*time.Hour {
		t.Errorf("a day later: %v", got)
	}
	if got := (period{seconds: 3600}).after(start, 24); got.Sub(start) != 24*time.Hour {
		t.Errorf("24 hours later: %v", got)
	}
}
