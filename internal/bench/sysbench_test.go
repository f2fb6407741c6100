package bench

import "testing"

// A report of sysbench 1.0.20.
const sysbenchReport = `SQL statistics:
    queries performed:
        read:                            140
        write:                           40
        other:                           20
        total:                           200
    transactions:                        10     (95.50 per sec.)
    queries:                             200    (1910.04 per sec.)
    ignored errors:                      3      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

Latency (ms):
         min:                                    5.02
         avg:                                   10.45
         max:                                   20.97
         95th percentile:                       18.95
         sum:                                  104.52
`

func TestParseSysbench(t *testing.T) {
	r, queries, err := parseSysbench([]byte(sysbenchReport))
	if err != nil {
		t.Fatal(err)
	}
	if want := (sysbenchRun{Transactions: 95.5, Queries: 1910.04, Errors: 3, P95: 18.95}); r != want || queries != 200 {
		t.Errorf("got %+v and %v queries, want %+v and 200", r, queries, want)
	}
	if _, _, err := parseSysbench([]byte("FATAL: mysql_drv_query() returned error 1146")); err == nil {
		t.Error("a report without figures was accepted")
	}
}
