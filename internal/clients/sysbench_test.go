package clients_test

import (
	"regexp"
	"strings"
	"testing"
)

// Every script of Debian's sysbench that speaks SQL, with prepared statements and without, prepares, runs and cleans up.
func TestSysbench(t *testing.T) {
	need(t, "sysbench")
	db, err := served.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE DATABASE sbtest"); err != nil { // sysbench's own default
		t.Fatal(err)
	}
	for _, c := range []struct {
		script, tables string
	}{
		{"oltp_delete", "2"}, {"oltp_insert", "2"}, {"oltp_point_select", "2"}, {"oltp_read_only", "2"}, {"oltp_read_write", "2"},
		{"oltp_update_index", "2"}, {"oltp_update_non_index", "2"}, {"oltp_write_only", "2"},
		{"select_random_points", "1"}, {"select_random_ranges", "1"}, // they refuse more tables
		{"bulk_insert", "2"}, // one of each thread
	} {
		for _, prepared := range []string{"auto", "disable"} {
			t.Run(c.script+"/"+prepared, func(t *testing.T) {
				for _, verb := range []string{"prepare", "run", "cleanup"} {
					// Rows are chosen evenly among many, so that two threads do not meet in a deadlock, which is no fault.
					out, err := run(t, "", "", "sysbench", c.script, "--mysql-socket="+served.Socket, "--mysql-user=root",
						"--tables="+c.tables, "--table-size=1000", "--rand-type=uniform", "--threads=2", "--time=0", "--events=40",
						"--db-ps-mode="+prepared, verb)
					if err != nil || strings.Contains(out, "FATAL") {
						t.Fatalf("%s: %v\n%s", verb, err, out)
					}
					if verb == "run" && (!number(t, out, `ignored errors: +(\d+)`, "0") || !number(t, out, `reconnects: +(\d+)`, "0") ||
						!number(t, out, `transactions: +(\d+)`, "40")) {
						t.Fatal(out)
					}
				}
			})
		}
	}
	var left int
	if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'sbtest'").Scan(&left); err != nil || left != 0 {
		t.Fatalf("%d tables are left, %v", left, err)
	}
}

// number finds a number in sysbench's report, and says whether it is the one that is wanted.
func number(t *testing.T, report, pattern, want string) bool {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(report)
	if m == nil {
		t.Errorf("sysbench's report has no %q", pattern)
		return false
	}
	return m[1] == want
}
