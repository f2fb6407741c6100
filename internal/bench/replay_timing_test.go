package bench

import (
	"context"
	"testing"
)

// BenchmarkReplayToStub is the part rate of bench replay, for profiles.
func BenchmarkReplayToStub(b *testing.B) {
	r := &replayBench{ReplayConfig: ReplayConfig{Connections: 16, Entries: b.N}, dir: b.TempDir()}
	stub, err := startStub()
	if err != nil {
		b.Fatal(err)
	}
	defer stub.close()
	name, err := r.pointLog(replayStubRows)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	v, err := r.playFile(context.Background(), name, "reader@tcp("+stub.addr()+")/sbtest")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(v, "entries/s")
}
