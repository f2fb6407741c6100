package restart

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// stub is a server whose behaviour is known: it answers in fast, is silent during the blackout and slow during the brownout.
type stub struct {
	start                    time.Time
	stop, blackout, brownout time.Duration // the brownout begins where the blackout ends
	fast, slow               time.Duration
	refusals                 atomic.Int64
}

func (s *stub) op(ctx context.Context) error {
	since := time.Since(s.start)
	switch {
	case since < s.stop:
		time.Sleep(s.fast)
		if s.blackout > 0 && time.Since(s.start) >= s.stop { // it dies with its server
			return errors.New("connection lost")
		}
	case since < s.stop+s.blackout:
		time.Sleep(time.Millisecond)
		s.refusals.Add(1)
		return errors.New("connection refused")
	case since < s.stop+s.blackout+s.brownout:
		time.Sleep(s.slow)
	default:
		time.Sleep(s.fast)
	}
	return ctx.Err()
}

// measure runs the load against the stub for as long as it takes to recover. Its time is that of a bubble of synctest: it passes when
// all wait, so that what comes out does not depend on what else the machine has to do.
func measure(t *testing.T, s *stub, l Load, workers int, length time.Duration) *Timeline {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	s.start = time.Now()
	ops := make([]Op, workers)
	for i := range ops {
		ops[i] = s.op
	}
	line := &Timeline{Name: "stub", Stop: s.start.Add(s.stop).UnixNano(), Launched: s.start.Add(s.stop).UnixNano()}
	l.Run(ctx, ops, func(k Tick) { line.Ticks = append(line.Ticks, k) })
	return line
}

func near(t *testing.T, what string, got, want, within time.Duration) {
	t.Helper()
	if got < want-within || got > want+within {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

// A blackout of 3 s and a brownout of 10 s, made on purpose, come out as such.
func TestKnownStallsComeOutAsSuch(t *testing.T) { synctest.Test(t, knownStalls) }

func knownStalls(t *testing.T) {
	s := &stub{stop: 12 * time.Second, blackout: 3 * time.Second, brownout: 10 * time.Second, fast: 10 * time.Millisecond, slow: 200 * time.Millisecond}
	line := measure(t, s, Load{}, 4, 28*time.Second)
	blackout, ok := line.Blackout()
	if !ok {
		t.Fatal("no answer after the stop")
	}
	near(t, "blackout", blackout, 3*time.Second+s.slow, 10*time.Millisecond)
	recovered, ok := line.Recovered(0.8)
	if !ok {
		t.Fatal("never recovered")
	}
	near(t, "seconds to 80 %", recovered, 11*time.Second, 3*Every)
	if share := line.FirstSecond(); share < 0.01 || share > 0.2 {
		t.Errorf("throughput in the first second: got %.3f of warm, want about 10/200", share)
	}
	var failed int64
	for _, k := range line.Ticks {
		failed += k.Failed
	}
	if want := s.refusals.Load(); failed < want || failed > want+4 {
		t.Errorf("got %d failed requests, the stub refused %d and lost at most 4", failed, want)
	}
	raw, err := json.Marshal(line) // what is written down knows the latencies of any time
	if err != nil {
		t.Fatal(err)
	}
	kept := &Timeline{}
	if err := json.Unmarshal(raw, kept); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Timeline{line, kept} {
		p99, _ := l.LatencyBefore(99)
		near(t, "p99 before", p99, s.fast, s.fast/50)
		p50, _ := l.LatencyAfter(50, s.brownout)
		near(t, "p50 in the ten seconds of the brownout", p50, s.slow, s.slow/50)
		if _, ok := l.Latency(99, Every, s.blackout); ok {
			t.Error("latencies of the blackout, in which nothing was answered")
		}
	}
}

// The same in an open loop: requests of the blackout are refused; those of the brownout wait for each other, and the last of them is
// late by all that could not be served.
func TestKnownStallsOfAnOpenLoop(t *testing.T) { synctest.Test(t, knownStallsOpen) }

func knownStallsOpen(t *testing.T) {
	const rate, workers = 100, 4
	s := &stub{stop: 12 * time.Second, blackout: 3 * time.Second, brownout: 10 * time.Second, fast: 10 * time.Millisecond, slow: 200 * time.Millisecond}
	line := measure(t, s, Load{Rate: rate, Patience: 300 * time.Millisecond}, workers, 40*time.Second)
	if warm := line.Warm(); warm < rate-1 || warm > rate+1 {
		t.Errorf("got %v requests a second before, want the %d that arrive", warm, rate)
	}
	blackout, ok := line.Blackout()
	if !ok {
		t.Fatal("no answer after the stop")
	}
	near(t, "blackout", blackout, s.blackout+s.slow, 20*time.Millisecond)
	recovered, ok := line.Recovered(0.9)
	if !ok {
		t.Fatal("never recovered")
	}
	near(t, "seconds to 90 %", recovered, s.brownout+time.Second/2, time.Second) // to the second
	end := s.blackout + s.brownout
	served := float64(workers) / s.slow.Seconds()
	left := time.Duration(s.brownout.Seconds() * (rate - served) / rate * float64(time.Second)) // how long ago the last one was due
	worst, _ := line.Latency(99, end-time.Second, end)
	near(t, "p99 in the last second of the brownout", worst, left, s.slow+left/50)
	last, _ := line.Latency(50, end-2*Every, end)
	near(t, "p50 at the end of the brownout", last, left, s.slow+left/50)
	punctual, ok := line.Punctual()
	if !ok {
		t.Fatal("never punctual again")
	}
	behind := s.brownout.Seconds() * (rate - served)
	drained := time.Duration(behind / (workers/s.fast.Seconds() - rate) * float64(time.Second))
	near(t, "punctual again", punctual, s.brownout+drained, 5*Every)
}

// A panel of latencies has a point a second, and a gap where nothing was answered.
func TestLatenciesUnderThePicture(t *testing.T) { synctest.Test(t, latenciesDrawn) }

func latenciesDrawn(t *testing.T) {
	s := &stub{stop: 4 * time.Second, blackout: 3 * time.Second, fast: 10 * time.Millisecond}
	line := measure(t, s, Load{}, 4, 10*time.Second)
	drawn := Picture{Unit: "requests per second", Percentile: 99}.Lines([]Styled{{Timeline: line, Label: "stub"}})
	if len(drawn.Below) != 1 || !drawn.Below[0].LogY {
		t.Fatalf("got panels %+v, want one, logarithmic", drawn.Below)
	}
	for _, p := range drawn.Below[0].Lines[0].Points {
		switch dark := p.X > 0 && p.X < 3; {
		case dark && p.X > 1 && !math.IsNaN(p.Y):
			t.Errorf("at %v s nothing was answered: got %v ms", p.X, p.Y)
		case !dark && (p.Y < 9.8 || p.Y > 10.2):
			t.Errorf("at %v s: got %v ms, want 10", p.X, p.Y)
		}
	}
}

// In an open loop the requests that were due during a stall are late, also those that were not sent in it.
func TestOpenLoopCountsFromWhenARequestWasDue(t *testing.T) { synctest.Test(t, openLoop) }

func openLoop(t *testing.T) {
	const rate = 200
	s := &stub{stop: 2 * time.Second, blackout: 0, brownout: time.Second, fast: time.Millisecond, slow: time.Second}
	line := measure(t, s, Load{Rate: rate, Patience: 300 * time.Millisecond}, 2, 6*time.Second)
	var late, worst int64
	for _, k := range line.Ticks {
		late, worst = late+k.Late, max(worst, k.Max)
	}
	// Two workers stood still for a second: all that was due then is late, though only two requests were slow by themselves.
	if late < rate*5/10 {
		t.Errorf("got %d late requests, want about %d", late, rate*7/10)
	}
	near(t, "largest latency", time.Duration(worst)*time.Microsecond, time.Second, 10*time.Millisecond)
	silent, _ := line.Blackout() // nobody was refused, but the first to be answered waited for a second
	near(t, "longest silence", silent, time.Second, 10*time.Millisecond)
	punctual, ok := line.Punctual()
	if !ok {
		t.Fatal("never punctual again")
	}
	near(t, "punctual again after the silence", punctual, Every, Every)
}

func TestSecondsBeginAtTheStop(t *testing.T) {
	line := &Timeline{Stop: 1_000 * int64(time.Second)}
	for n := -20; n < 20; n++ {
		line.Ticks = append(line.Ticks, Tick{Begin: line.Stop + int64(n)*int64(Every), End: line.Stop + int64(n+1)*int64(Every), Done: int64(n + 100)})
	}
	s := line.Seconds()
	if len(s) != 4 || s[0].Start != -2 || s[3].Start != 1 {
		t.Fatalf("got seconds %+v", s)
	}
	for _, x := range s {
		if x.Measured < 0.99 || x.Measured > 1.01 {
			t.Errorf("second %d: measured %v", x.Start, x.Measured)
		}
	}
	if s[2].Done != 100+101+102+103+104+105+106+107+108+109 {
		t.Errorf("the first second has %d", s[2].Done)
	}
}

// A process in the cage reads no faster than its disk.
func TestCageHoldsTheDiskBack(t *testing.T) {
	dir := t.TempDir()
	cage, err := NewCage(dir, Disk{IOPS: 1000, BytesPerSecond: 16 << 20})
	if errors.Is(err, ErrNoCage) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cage.Remove(); err != nil {
			t.Error(err)
		}
	}()
	file := dir + "/data"
	if err := os.WriteFile(file, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `read go && exec dd if="$0" of=/dev/null iflag=direct bs=1M status=none`, file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cage.Enter(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	in.Write([]byte("go\n"))
	if err := cmd.Wait(); err != nil {
		t.Skipf("dd: %v (no direct I/O on %s?)", err, dir)
	}
	if took := time.Since(start); took < 500*time.Millisecond {
		t.Errorf("16 MiB at 16 MiB/s took %v", took)
	}
}

// Who is in a cage that is removed, children included, is again where the first of them came from.
func TestCageLetsEverybodyOut(t *testing.T) {
	cage, err := NewCage(t.TempDir(), Disk{IOPS: 1000, BytesPerSecond: 16 << 20})
	if errors.Is(err, ErrNoCage) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(filepath.Dir(cage.dir), fmt.Sprintf("hearth-test-%d", os.Getpid()))
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(errors.Join(err, cage.Remove()))
	}
	cmd := exec.Command("sh", "-c", "read go; sleep 600 & cat /proc/$!/cgroup; echo told; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		for os.Remove(home) != nil { // until the child is gone too, whom we cannot wait for
			time.Sleep(time.Millisecond)
		}
	}()
	if err := os.WriteFile(filepath.Join(home, groupProcs), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cage.Enter(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	told := bufio.NewScanner(out)
	for in := false; !in; in = strings.Contains(told.Text(), filepath.Base(cage.dir)) {
		if !told.Scan() || told.Text() == "told" {
			t.Fatal("a child of the one that entered is not in the cage")
		}
	}
	if err := cage.Remove(); err != nil {
		t.Fatal(err)
	}
	if got, err := groupOf(cmd.Process.Pid, filepath.Dir(cage.dir)); err != nil || got != home {
		t.Errorf("it is in %q, %v, want %q", got, err, home)
	}
	if _, err := os.Stat(cage.dir); err == nil {
		t.Error("the cage is still there")
	}
}

// withFacts is a timeline of ten seconds around the stop in which a counter grows by 50 a second and begins again after it.
func withFacts() *Timeline {
	line := &Timeline{Stop: 1_000 * int64(time.Second)}
	for n := -100; n < 100; n++ {
		k := Tick{Begin: line.Stop + int64(n)*int64(Every), End: line.Stop + int64(n+1)*int64(Every), Done: 10}
		if n >= 0 && n < 50 {
			k.Done = 0
		}
		if (n+100)%10 == 5 && (n < 0 || n >= 20) {
			k.Facts = map[string]float64{"count": float64((n+100)%100) * 5, "level": 200 + float64(n)}
		}
		line.Ticks = append(line.Ticks, k)
	}
	return line
}

// A counter is drawn as its growth and never over the restart; a level as a share of what it was before.
func TestFactsUnderThePicture(t *testing.T) {
	line := withFacts()
	line.Launched = line.Stop + int64(Every)/2
	line.Ticks[100].Facts = map[string]float64{"count": 500, "level": 200} // of the old process, told when it was dead
	gap := 0
	for _, p := range (Below{Fact: "count", Rate: true}).points(line) {
		switch {
		case math.IsNaN(p.Y):
			gap++
		case p.Y < 49 || p.Y > 51:
			t.Errorf("at %.1f s: grows by %v a second, want 50", p.X, p.Y)
		case p.X > 0 && p.X < 2.9:
			t.Errorf("a rate at %.1f s, when only one value was known", p.X)
		}
	}
	if gap != 1 {
		t.Errorf("%d gaps, want one at the restart", gap)
	}
	level := (Below{Fact: "level", Share: true}).points(line)
	if last := level[len(level)-1].Y; last < 151 || last > 152 { // 295 of 195
		t.Errorf("got %v %%, want 151", last)
	}
	if v, ok := line.FactBefore("level"); !ok || v != 195 {
		t.Errorf("before the stop: got %v, %v, want 195", v, ok)
	}
	if got := (Below{Fact: "nobody's", Share: true}).points(line); len(got) != 0 {
		t.Errorf("points of a fact that nobody told: %v", got)
	}
}

func TestServedIn(t *testing.T) {
	line := withFacts()
	if got, ok := line.ServedIn(10 * time.Second); !ok || got < 0.49 || got > 0.51 {
		t.Errorf("served in ten seconds, dark for five of them: got %v, %v, want a half", got, ok)
	}
	if _, ok := line.ServedIn(11 * time.Second); ok {
		t.Error("eleven seconds were not measured")
	}
}

// What a load did minutes ago says nothing of the restart.
func TestWarmIsOfTheLastMinute(t *testing.T) {
	line := &Timeline{Stop: 1e12}
	for s := -300; s < 0; s++ {
		done := int64(9000)
		if s >= -warmSeconds {
			done = 5000
		}
		begin := line.Stop + int64(s)*1e9
		line.Ticks = append(line.Ticks, Tick{Begin: begin, End: begin + 1e9, Done: done})
	}
	if got := line.Warm(); got != 5000 {
		t.Errorf("got %v requests a second before, want the 5000 of the last minute", got)
	}
	line.Rate = 4000 // it was behind, and answered what had arrived before
	if got := line.Warm(); got != 4000 {
		t.Errorf("got %v requests a second before, want the 4000 that arrive", got)
	}
}
