package slowlogd

import "github.com/prometheus/client_golang/prometheus"

// collector tells Prometheus what /status tells people.
type collector struct{ d *daemon }

var figures = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*status, totals) float64
}{
	{desc("up", "1 while the log is read, 0 while it is waited for."), prometheus.GaugeValue, func(s *status, _ totals) float64 {
		if s.Waiting != "" {
			return 0
		}
		return 1
	}},
	{desc("entries_total", "Entries seen in the log."), prometheus.CounterValue, func(s *status, _ totals) float64 { return float64(s.Entries) }},
	{desc("bytes_total", "Bytes seen in the log."), prometheus.CounterValue, func(s *status, _ totals) float64 { return float64(s.Bytes) }},
	{desc("rotations_total", "Times a newer file took over."), prometheus.CounterValue, func(s *status, _ totals) float64 { return float64(s.Rotations) }},
	{desc("truncations_total", "Times the log was truncated in place, which can lose entries."), prometheus.CounterValue,
		func(s *status, _ totals) float64 { return float64(s.Truncations) }},
	{desc("clients", "Clients that are being served."), prometheus.GaugeValue, func(s *status, _ totals) float64 { return float64(len(s.Clients)) }},
	{desc("behind_bytes", "How far the slowest client is behind."), prometheus.GaugeValue, func(s *status, _ totals) float64 {
		most := int64(0)
		for _, c := range s.Clients {
			most = max(most, c.BehindBytes)
		}
		return float64(most)
	}},
	{desc("sent_bytes_total", "Bytes sent to clients, before compression."), prometheus.CounterValue, func(_ *status, t totals) float64 { return float64(t.SentBytes) }},
	{desc("skipped_entries_total", "Entries that clients did not get."), prometheus.CounterValue, func(_ *status, t totals) float64 { return float64(t.SkippedEntries) }},
	{desc("skipped_bytes_total", "Bytes that clients did not get."), prometheus.CounterValue, func(_ *status, t totals) float64 { return float64(t.SkippedBytes) }},
}

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("slowlogd_"+name, help, nil, nil)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range figures {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.d.statusNow()
	all := s.Gone
	for _, client := range s.Clients {
		all.add(client.totals)
	}
	for _, f := range figures {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(&s, all))
	}
}
