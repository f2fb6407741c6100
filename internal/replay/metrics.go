package replay

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics serves the accounts and the queue to Prometheus.
func (p *Player) Metrics() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{p})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

type collector struct{ p *Player }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("hearth_replay_"+name, help, labels, nil)
}

var (
	descReceived = desc("received_total", "Entries read from the log.")
	descEntries  = desc("entries_total", "Entries by what became of them; the sum is received less what is under way.", "outcome", "reason")
	descSent     = desc("statements_total", "Statements sent; a rewritten change may be several.")
	descRows     = desc("rows_total", "Rows of results that were thrown away.")
	descBytes    = desc("result_bytes_total", "Bytes of results that were thrown away.")
	descCut      = desc("cut_total", "Results longer than the limits.")
	descWaiting  = desc("queue_entries", "Entries that wait.")
	descQueued   = desc("queue_bytes", "Bytes that wait.")
	descOldest   = desc("queue_oldest_seconds", "How long the oldest has waited.")
	descInflight = desc("inflight", "Statements on the target now.")
	descLimit    = desc("inflight_limit", "How many there may be.")
	descOpen     = desc("gate_open", "1 while the target is confirmed to be read-only.")
	descBehind   = desc("behind_seconds", "Age of the newest entry by the log's clock.")
)

func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.p.snapshot()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64) { ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	counter(descReceived, float64(s.Totals.Received))
	for outcome, reasons := range s.Totals.By {
		for reason, n := range reasons {
			counter(descEntries, float64(n), outcome, reason)
		}
	}
	counter(descSent, float64(s.Sent))
	counter(descRows, float64(s.Rows))
	counter(descBytes, float64(s.Bytes))
	counter(descCut, float64(s.Cut))
	gauge(descWaiting, float64(s.Queue.Waiting))
	gauge(descQueued, float64(s.Queue.Bytes))
	gauge(descOldest, s.Queue.Oldest.Seconds())
	gauge(descInflight, float64(s.Queue.Inflight))
	gauge(descLimit, float64(s.Queue.Limit))
	gauge(descBehind, s.Behind.Seconds())
	open := 0.0
	if s.Open {
		open = 1
	}
	gauge(descOpen, open)
}
