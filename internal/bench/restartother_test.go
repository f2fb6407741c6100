package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/restart"
)

// otherMariaDB is a MariaDB of Debian's packages as a user would name it: by commands. It does not run.
func otherMariaDB(t *testing.T) (o OtherServer, program string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hearth-o-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := peer.MariaDB(peer.Config{Dir: dir, Pool: 64 << 20, LogSize: 32 << 20})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil { // makes its system tables
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	socket, pid := filepath.Join(dir, "o.sock"), filepath.Join(dir, "o.pid")
	program = fmt.Sprintf("PATH=$PATH:/usr/sbin; exec mariadbd --no-defaults --user=$(id -un) --datadir=%s --socket=%s --pid-file=%s "+
		"--skip-networking --innodb-log-file-size=33554432", s.Data(), socket, pid)
	o = OtherServer{
		DSN: "root@unix(" + socket + ")/", Name: "MariaDB by commands", Start: program, Data: s.Data(), Wait: time.Minute,
		Stop: "kill $(cat " + pid + ")", Kill: "kill -9 $(cat " + pid + ")",
	}
	t.Cleanup(func() { // whatever becomes of the test
		if p, err := newOther(o, ServerRestartConfig{}, dir, Output{}); err == nil && p.ping(t.Context()) == nil {
			p.Kill()
		}
	})
	return o, program
}

// otherConfig is the smallest measurement.
func otherConfig(t *testing.T, o OtherServer, stop string) (ServerRestartConfig, *[]*restart.Timeline) {
	var lines []*restart.Timeline
	return ServerRestartConfig{
		Dir: t.TempDir(), Bytes: 1 << 20, Pool: 64 << 20, Clients: 4, Before: 3 * time.Second, After: time.Second, Whole: true, Runs: 1, Seed: 1,
		Redo: 1, Cases: []ServerCase{{Workload: WorkloadUpdate, Spread: SpreadUniform, Stop: stop}}, Profiles: []ServerProfile{OtherProfile(o)},
		Timeline: func(l *restart.Timeline) { lines = append(lines, l) },
	}, &lines
}

func schemas(t *testing.T, o OtherServer) (names []string) {
	t.Helper()
	p, err := newOther(o, ServerRestartConfig{}, t.TempDir(), Output{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := p.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT schema_name FROM information_schema.schemata")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// A server that is known by commands only is loaded, killed and started again, its counters are read, and what it acknowledged is looked
// for. One that did not run is stopped at the end; one that did runs on, without our schema or with it, as asked for.
func TestOtherServerRestarts(t *testing.T) {
	o, program := otherMariaDB(t)
	out, _ := collect(t)
	p, err := newOther(o, ServerRestartConfig{}, t.TempDir(), out)
	if err != nil {
		t.Fatal(err)
	}

	// The start command stays; the server did not run.
	cfg, lines := otherConfig(t, o, StopKill)
	if err := ServerRestart(t.Context(), cfg, out); err != nil {
		t.Fatal(err)
	}
	if p.ping(t.Context()) == nil {
		t.Error("a server that did not run before runs")
	}
	line := (*lines)[0]
	if v := line.Config["verified"]; !strings.Contains(v, " 0 lost") || strings.HasPrefix(v, "0 ") {
		t.Errorf("verified: %q", v)
	}
	if !strings.Contains(line.Config["server version"], "MariaDB") || line.Config["stopped by"] != o.Kill {
		t.Errorf("configuration: %v", line.Config)
	}
	if _, ok := line.FactBefore(factAge); !ok {
		t.Error("nobody sampled its counters")
	}
	if dark, ok := line.Blackout(); !ok || dark <= 0 {
		t.Errorf("blackout: %v, %v", dark, ok)
	}

	// The start command returns, the process is known, its disk is held back where that is possible; the server runs already.
	o.Start = "(" + program + ") >/dev/null 2>&1 &"
	o.Pid, o.Cold, o.Keep = strings.Replace(strings.TrimPrefix(o.Stop, "kill $("), ")", "", 1), "echo cold >>"+filepath.Join(o.Data, "..", "cold"), true
	if p, err = newOther(o, ServerRestartConfig{}, t.TempDir(), out); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(schemas(t, o), otherSchema) {
		t.Error("the schema was left behind")
	}
	cfg, lines = otherConfig(t, o, StopClean)
	disk := restart.Disk{IOPS: 3000, BytesPerSecond: 125e6}
	if c, err := restart.NewCage(o.Data, disk); err == nil {
		if err := c.Remove(); err != nil {
			t.Fatal(err)
		}
		cfg.Disk = disk
	}
	if err := ServerRestart(t.Context(), cfg, out); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(o.Data, "..", "cold")); err != nil || string(b) != "cold\n" {
		t.Errorf("--cold ran: %q, %v", b, err)
	}
	if p.ping(t.Context()) != nil || !slices.Contains(schemas(t, o), otherSchema) {
		t.Error("a server that ran, and a schema that was to be kept, are not there")
	}

	// What was kept is used again if it is the same, and never overwritten.
	var told strings.Builder
	cfg, _ = otherConfig(t, o, StopKill)
	again := Output{Progress: func(format string, args ...any) { fmt.Fprintf(&told, format+"\n", args...) }, Result: out.Result}
	if err := ServerRestart(t.Context(), cfg, again); err != nil || !strings.Contains(told.String(), "loaded before") {
		t.Errorf("with a schema that was kept: %v, told:\n%s", err, told.String())
	}
	cfg.Bytes *= 2
	if err := ServerRestart(t.Context(), cfg, out); err == nil || !strings.Contains(err.Error(), "drop it") {
		t.Errorf("with a schema of another size: got %v", err)
	}
	if !slices.Contains(schemas(t, o), otherSchema) {
		t.Error("a schema that was there before is gone")
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

// What a user can get wrong with commands is told with what the command said.
func TestOtherServerSaysWhatIsWrong(t *testing.T) {
	o, program := otherMariaDB(t)
	out, _ := collect(t)
	try := func(change func(*OtherServer)) *other {
		t.Helper()
		wrong := o
		change(&wrong)
		p, err := newOther(wrong, ServerRestartConfig{}, t.TempDir(), out)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	want := func(what string, err error, words ...string) {
		t.Helper()
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want it to say %q", what, err, w)
			}
		}
	}
	ctx := t.Context()
	want("a start that fails", try(func(o *OtherServer) { o.Start = "echo no such disk >&2; exit 3" }).Start(ctx), "--start", "exit status 3", "no such disk")
	want("a program that is not there", try(func(o *OtherServer) { o.Start = "/no/such/program" }).Start(ctx), "127", "not found")
	want("a server that fails", try(func(o *OtherServer) { o.Start = program + " --no-such-option" }).Start(ctx), "no-such-option")
	short := 300 * time.Millisecond
	want("a start of nobody", try(func(o *OtherServer) { o.Start, o.Wait = "echo done", short }).Start(ctx), "does not answer", "--wait", "done")
	want("a start that does nothing for ever", try(func(o *OtherServer) { o.Start, o.Wait = "exec sleep 2", short }).Start(ctx), "does not answer", "--wait")

	p := try(func(*OtherServer) {})
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want("a kill that fails", try(func(o *OtherServer) { o.Kill = "echo nobody there; false" }).Kill(), "--kill", "exit status 1", "nobody there")
	want("a kill of nobody", try(func(o *OtherServer) { o.Kill, o.Wait = "true", short }).Kill(), "still answers", "--kill")
	want("a stop that hangs", try(func(o *OtherServer) { o.Stop, o.Wait = "sleep 100", short }).Stop(), "--stop", "has not returned", "--wait")
	want("process ids that are none", try(func(o *OtherServer) { o.Start, o.Pid, o.Wait = "exec sleep 2", "echo $$; echo many", short }).Launch(ctx, func(int) error { return nil }), "--pid", "many")
	stranger := func(o *OtherServer) { o.DSN = "stranger:secret@" + strings.TrimPrefix(o.DSN, "root@") }
	want("a stranger", try(stranger).Start(ctx), "does not let us in")
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	late := try(stranger)
	want("a stranger to a server that was started for it", late.Start(ctx), "does not let us in")
	if err := late.Kill(); err != nil {
		t.Fatal(err)
	}
}

func TestOtherServerIsAskedForInWhole(t *testing.T) {
	whole := OtherServer{DSN: "root@unix(/s)/", Name: "x", Start: "a", Stop: "b", Kill: "c", Data: "/d", Wait: time.Second}
	for _, c := range []struct {
		what   string
		change func(*OtherServer)
		want   string // ""; no error
	}{
		{"whole", func(*OtherServer) {}, ""},
		{"with a schema", func(o *OtherServer) { o.DSN += "mine" }, ""},
		{"no DSN", func(o *OtherServer) { o.DSN = "localhost:3306" }, "--dsn"},
		{"a schema that is none", func(o *OtherServer) { o.DSN += "a`b" }, "--dsn"},
		{"no start", func(o *OtherServer) { o.Start = "" }, "--start"},
		{"no stop", func(o *OtherServer) { o.Stop = "" }, "--stop"},
		{"no kill", func(o *OtherServer) { o.Kill = "" }, "--kill"},
		{"no folder", func(o *OtherServer) { o.Data = "" }, "--data"},
		{"no patience", func(o *OtherServer) { o.Wait = 0 }, "--wait"},
	} {
		o := whole
		c.change(&o)
		cfg := ServerRestartConfig{
			Clients: 1, Pool: 2 << 20, Bytes: 1 << 20, Disk: restart.Disk{IOPS: 1}, Profiles: []ServerProfile{OtherProfile(o)},
			Cases: []ServerCase{{Workload: WorkloadPoint, Stop: StopKill}, {Workload: WorkloadPoint, Stop: StopClean}},
		}
		if err := cfg.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
}
