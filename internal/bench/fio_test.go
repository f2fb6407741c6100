package bench

import "testing"

func TestFioReads(t *testing.T) {
	got, err := fioReads([]byte(`fio: a note before the report
{"fio version": "fio-3.33", "jobs": [{"jobname": "randread", "read": {"iops": 45136.25}}]}`))
	if err != nil || got != 45136.25 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "no report", "{", `{"jobs": []}`} {
		if _, err := fioReads([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
