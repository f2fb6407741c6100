package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/slowlogd"
)

// childEnv tells the test binary to be a process that is killed: the daemon, or a replayer.
const childEnv = "HEARTH_REPLAY_TEST_CHILD"

// child is what such a process does, until it is killed.
func child(what string, args []string) error {
	ctx := context.Background()
	if what == "daemon" {
		return slowlogd.Run(ctx, slowlogd.Config{Log: args[0], Listen: args[1]})
	}
	url, dsn, checkpoint := args[0], args[1], args[2]
	at, err := LoadCheckpoint(checkpoint, url)
	if err != nil {
		return err
	}
	p, err := New(ctx, Config{Target: TargetConfig{DSN: dsn, Limits: DefaultLimits, Writes: WritesRewrite}, Connections: 4, QueueBytes: DefaultQueueBytes,
		QueueAge: 5 * time.Minute, Policy: PolicyNovelty})
	if err != nil {
		return err
	}
	src, err := OpenSource(ctx, SourceConfig{From: url, At: at})
	if err != nil {
		return err
	}
	go func() {
		for ; ; time.Sleep(20 * time.Millisecond) {
			SaveCheckpoint(checkpoint, url, p.Place())
		}
	}()
	return p.Run(ctx, src)
}

// spawn starts a child. The returned function kills it with SIGKILL.
func spawn(t *testing.T, what string, args ...string) (kill func()) {
	t.Helper()
	cmd := osexec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(kill)
	return kill
}

// A primary, and a standby that replicates from it, both real. Changes go by replication, reads by its slow log, the daemon and the
// replayer, which are killed again and again. Nothing that was read on the primary is missing on the standby; its data are what
// replication made of them; and what happens to a standby happens to it: its replication stops, it restarts, is promoted, and another
// server comes to its address.
func TestAReplicatingPair(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two MariaDBs")
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	start := func(name string, extra ...string) (*peer.Server, *sql.DB) {
		s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(dir, name), Pool: 32 << 20, LogSize: 16 << 20, Extra: extra})
		if errors.Is(err, peer.ErrMissing) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Kill() })
		if err := s.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		db := open(t, s, "")
		db.SetMaxOpenConns(1)
		return s, db
	}
	slow, general := filepath.Join(dir, "slow.log"), filepath.Join(dir, "general.log")
	primary, active := start("primary", "--log-bin=binlog", "--server-id=1", "--long-query-time=0", "--slow-query-log=1", "--log-output=FILE", "--slow-query-log-file="+slow)
	standby, passive := start("standby", "--server-id=2", "--read-only=1", "--general-log=1", "--log-output=FILE", "--general-log-file="+general)
	exec(t, active, "CREATE USER repl@'%' IDENTIFIED BY 'repl'", "GRANT REPLICATION SLAVE ON *.* TO repl@'%'", "CREATE USER warm@localhost", "GRANT SELECT, PROCESS, BINLOG MONITOR, SLAVE MONITOR ON *.* TO warm@localhost")
	exec(t, active, pairSchema[1:]...)
	exec(t, passive, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='repl', MASTER_PASSWORD='repl', MASTER_USE_GTID=slave_pos", primary.Port), "START SLAVE")
	caughtUp := func() {
		t.Helper()
		var pos string
		if err := active.QueryRow("SELECT @@gtid_binlog_pos").Scan(&pos); err != nil {
			t.Fatal(err)
		}
		var late int
		if err := passive.QueryRow("SELECT MASTER_GTID_WAIT(?, 60)", pos).Scan(&late); err != nil || late != 0 {
			t.Fatalf("replication does not catch up: %d, %v", late, err)
		}
	}
	caughtUp()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	l.Close()
	url := "http://" + listen + "/slow?since=start"
	warm := "warm@unix(" + standby.Socket + ")/pair"
	killDaemon := spawn(t, "daemon", slow, listen)
	eventually(t, "the daemon answers", func() bool {
		c, err := net.Dial("tcp", listen)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	checkpoint := filepath.Join(dir, "checkpoint")
	killReplay := spawn(t, "replay", url, warm, checkpoint)
	const rounds, reads = 6, 200
	work := open(t, primary, "pair")
	work.SetMaxOpenConns(1)
	for round := range rounds {
		for i := range reads {
			exec(t, work, fmt.Sprintf("SELECT b FROM t WHERE a = %d AND %d = %d", 1+i, round*reads+i, round*reads+i))
			if i%10 == 0 {
				exec(t, work, fmt.Sprintf("UPDATE t SET b = b + 1 WHERE a = %d", 1+i), fmt.Sprintf("INSERT INTO t VALUES (%d, 1)", 10_000+round*reads+i))
			}
		}
		if round%2 == 0 {
			killReplay()
			killReplay = spawn(t, "replay", url, warm, checkpoint)
		} else {
			killDaemon()
			killDaemon = spawn(t, "daemon", slow, listen)
		}
	}
	exec(t, work, "SELECT 'the last'") // an entry ends where the next begins
	missing := ""
	eventually(t, "all reads have been replayed", func() bool {
		b, err := os.ReadFile(general)
		if err != nil {
			t.Fatal(err)
		}
		log := string(b)
		for n := range rounds * reads {
			if missing = fmt.Sprintf("SELECT b FROM t WHERE a = %d AND %d = %d\n", 1+n%reads, n, n); !strings.Contains(log, missing) {
				return false
			}
		}
		return true
	})
	killReplay()
	caughtUp()
	sum := func(db *sql.DB) (n string) {
		var name string
		if err := db.QueryRow("CHECKSUM TABLE pair.t").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b := sum(active), sum(passive); a != b {
		t.Errorf("the standby's rows differ from the primary's: %s, %s", b, a)
	}
	var writes string
	if err := passive.QueryRow("SELECT @@gtid_current_pos = @@gtid_slave_pos").Scan(&writes); err != nil || writes != "1" {
		t.Errorf("the standby has changes of its own: %s, %v", writes, err)
	}

	d := newDoor(t, standby)
	c := patient(t, standby)
	c.Target.DSN, c.Target.Source, c.Target.MayWrite, c.Connections = d.dsn(), primary.DSN(""), false, 2
	r := run(t, c, "SELECT * FROM t WHERE a = 1", "UPDATE t SET b = 1 WHERE a = 3")
	r.goesOn(t, "to a replica")
	exec(t, passive, "STOP SLAVE")
	r.goesOn(t, "to one whose replication is stopped")
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is noticed", func() bool { return !r.watch.open(time.Now()) })
	if err := standby.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.goesOn(t, "to one that has restarted")
	shed := func(why string) func() bool {
		return func() bool { return r.Accounts.Totals().By["shed"][why] > 0 }
	}
	exec(t, passive, "STOP SLAVE", "SET GLOBAL read_only = 0")
	eventually(t, "it stops at the promotion", shed(reasonPromoted))
	exec(t, passive, "SET GLOBAL read_only = 1")
	r.goesOn(t, "to one that was demoted")
	exec(t, active, "SET GLOBAL read_only = 1")
	d.set(0, primary)
	eventually(t, "it stops when another server is at the address", shed(reasonReplaced))
	sent := r.sent.Load()
	time.Sleep(300 * time.Millisecond)
	if now := r.sent.Load(); now != sent {
		t.Errorf("%d statements were sent to the other server", now-sent)
	}
	d.set(0, standby)
	r.goesOn(t, "to its own standby again")
	if totals := r.end(t); totals.Sum(Failed) > 0 {
		t.Errorf("want none failed: %s", totals)
	}
}
