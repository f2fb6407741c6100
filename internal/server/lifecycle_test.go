package server

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth"
)

// failsToStart checks that a server does not start, and that its error is one line with a hint.
func failsToStart(t *testing.T, cfg Config, words ...string) {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	if err == nil {
		s.Close(t.Context())
		t.Fatalf("the server started, want an error with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
}

func TestStartErrors(t *testing.T) {
	s := start(t)
	t.Run("port", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Listen = s.Addr().String()
		failsToStart(t, cfg, "is in use", "--listen")
	})
	t.Run("directory", func(t *testing.T) {
		cfg := s.cfg
		cfg.Listen, cfg.Socket = "127.0.0.1:0", filepath.Join(t.TempDir(), "s")
		failsToStart(t, cfg, "is in use", "another process")
	})
	t.Run("a copy", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Engine.Memory, cfg.Engine.MemoryDir = hearth.MemoryAuto, t.TempDir()
		t.Run("its original", func(t *testing.T) { startAt(t, cfg) })
		copied := cfg
		copied.Data += ".copy"
		if err := os.CopyFS(copied.Data, os.DirFS(cfg.Data)); err != nil {
			t.Fatal(err)
		}
		startAt(t, cfg)
		failsToStart(t, copied, "is in use", "copy", "--memory-dir")
	})
	t.Run("socket", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Socket = s.cfg.Socket
		failsToStart(t, cfg, "is in use", "--socket")
	})
	t.Run("a file for a socket", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Socket = filepath.Join(t.TempDir(), "file")
		os.WriteFile(cfg.Socket, []byte("precious"), 0o600)
		failsToStart(t, cfg, "in the way", "--socket")
		if b, _ := os.ReadFile(cfg.Socket); string(b) != "precious" {
			t.Error("the file is gone")
		}
	})
	t.Run("not a database", func(t *testing.T) {
		cfg := testConfig(t)
		os.MkdirAll(cfg.Data, 0o700)
		os.WriteFile(filepath.Join(cfg.Data, "letter.txt"), nil, 0o600)
		failsToStart(t, cfg, cfg.Data, "letter.txt")
	})
	t.Run("certificate", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.TLSCert, cfg.TLSKey = "/nowhere/cert", "/nowhere/key"
		failsToStart(t, cfg, "/nowhere/cert")
	})
	t.Run("configuration", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Listen, cfg.Socket = Off, Off
		failsToStart(t, cfg, "neither")
	})
	t.Run("memory", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.Engine.Memory, cfg.Engine.MemoryDir = hearth.MemoryRequire, "/nowhere"
		failsToStart(t, cfg, "/nowhere")
	})
	expect(t, rows(t, conn(t, open(t, s)), "SELECT 1"), "1")
}

// The socket of a server that was killed is in nobody's way.
func TestStaleSocket(t *testing.T) {
	cfg := testConfig(t)
	dir := t.TempDir()
	cfg.Socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", cfg.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	s := startAt(t, cfg)
	c := login(s, "root", "")
	c.Net, c.Addr = "unix", cfg.Socket
	if err := tryLogin(t, c); err != nil {
		t.Error(err)
	}
}

// While the server starts or stops, a client that comes is told so.
func TestPhases(t *testing.T) {
	s := start(t)
	s.enter("analysis 43 %", false)
	e := failsWith(t, tryLogin(t, login(s, "root", "")), erNotAvailable)
	if e.Message != "hearth is starting: analysis 43 %" {
		t.Errorf("a client is told %q", e.Message)
	}
	s.enter("", true)
	failsWith(t, tryLogin(t, login(s, "root", "")), erServerShutdown)
	s.phase.Store(nil)
	if err := tryLogin(t, login(s, "root", "")); err != nil {
		t.Error(err)
	}
}

// A start that has lost the memory of the last life answers at once, and brings the pages forward behind that.
func TestRedoBehind(t *testing.T) {
	cfg := testConfig(t)
	t.Run("before", func(t *testing.T) {
		cfg := cfg
		cfg.Engine.Memory, cfg.Engine.MemoryDir = hearth.MemoryRequire, t.TempDir()
		c := conn(t, open(t, startAt(t, cfg)))
		exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(1000))")
		for range 50 {
			exec(t, c, "INSERT INTO t (b) VALUES (REPEAT('x', 1000)), (REPEAT('y', 1000))")
		}
	}) // it stops in order, and leaves its changed pages in that memory
	c := conn(t, open(t, startAt(t, cfg)))
	expect(t, rows(t, c, "SELECT COUNT(*) FROM test.t"), "100")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		total, left := statusNumber(t, c, "Hearth_redo_pages"), statusNumber(t, c, "Hearth_redo_pages_left")
		if total > 0 && left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d pages are left to redo after a minute", left, total)
		}
	}
	expect(t, rows(t, c, "SELECT COUNT(*) FROM test.t"), "100")
}

// TestFastShutdown: it can be said at any time whether a stop writes every page.
func TestFastShutdown(t *testing.T) {
	cfg := testConfig(t)
	cfg.Engine.Memory, cfg.Engine.MemoryDir = hearth.MemoryRequire, t.TempDir()
	life := func(name string, flush bool, want hearth.StartKind, do ...string) {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			cfg.Flush = flush
			s := startAt(t, cfg)
			if got := s.DB().StartReport().Kind; got != want {
				t.Errorf("the start is %q, want %q", got, want)
			}
			c := conn(t, open(t, s))
			for _, text := range do {
				exec(t, c, text)
			}
		})
	}
	life("asked to write", false, hearth.StartNew, "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "SET GLOBAL innodb_fast_shutdown = 0")
	life("not asked", false, hearth.StartCleanFlushed, "INSERT INTO t VALUES (2)")
	life("asked not to", true, hearth.StartCleanRegion, "INSERT INTO t VALUES (3)", "SET GLOBAL innodb_fast_shutdown = 2")
	life("by the configuration", true, hearth.StartCleanRegion, "INSERT INTO t VALUES (4)")
	life("written", false, hearth.StartCleanFlushed)
}

func TestRun(t *testing.T) {
	cfg := testConfig(t)
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", manager.LocalAddr().String())
	t.Setenv("GOGC", "100")
	t.Setenv("GOMEMLIMIT", "off")
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg, &out) }()
	var said []string
	heard := func(word string) {
		t.Helper()
		b := make([]byte, 1000)
		for {
			manager.SetReadDeadline(time.Now().Add(time.Minute))
			n, err := manager.Read(b)
			if err != nil {
				t.Fatalf("the service manager heard %q, not %q: %v", said, word, err)
			}
			said = append(said, string(b[:n]))
			if strings.Contains(string(b[:n]), word) {
				return
			}
		}
	}
	heard("STATUS=starting: ")
	heard("READY=1")
	stop()
	heard("STOPPING=1")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"made a new database in " + cfg.Data, "start: new", "listening on 127.0.0.1:", "mariadb -u root -h 127.0.0.1 -P ",
		"mariadb -u root -S " + filepath.Join(cfg.Data, DefaultSocketName), "root has no password", "stopped",
	} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("no %q in what the server says:\n%s", words, out.String())
		}
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, DefaultSocketName)); err == nil {
		t.Error("the socket is there after the stop")
	}
}

// TestActivatedChild is the process of the test below.
func TestActivatedChild(t *testing.T) {
	dir := os.Getenv("HEARTH_TEST_ACTIVATED")
	if dir == "" {
		t.Skip("for TestActivation")
	}
	os.Setenv("LISTEN_PID", fmt.Sprint(os.Getpid()))
	list, err := InheritedListeners()
	if err != nil || len(list) != 1 || list[0].Name != "clients" {
		t.Fatalf("inherited %v, %v", list, err)
	}
	cfg := testConfig(t)
	cfg.Activated = list
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdin.Read(make([]byte, 1)) // until the parent closes it
	s.Close(t.Context())
}

func TestActivation(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	child := osexec.Command(os.Args[0], "-test.run=^TestActivatedChild$")
	child.Env = append(os.Environ(), "HEARTH_TEST_ACTIVATED=1", "LISTEN_FDS=1", "LISTEN_FDNAMES=clients")
	child.ExtraFiles = []*os.File{f}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr = "root", "tcp", l.Addr().String()
	eventually(t, "a login on the inherited socket", func() bool { return tryLogin(t, c) == nil })
	in.Close()
	if err := child.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestLoadDataLocal(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE ld (id INT PRIMARY KEY, s VARCHAR(100))")
	exec(t, c, "SET GLOBAL local_infile = 1")
	var file strings.Builder
	for id := range 20_000 {
		fmt.Fprintf(&file, "%d,row %d\n", id, id)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	os.WriteFile(path, []byte(file.String()), 0o600)
	mysql.RegisterLocalFile(path)
	defer mysql.DeregisterLocalFile(path)
	load := "LOAD DATA LOCAL INFILE '" + path + "' INTO TABLE ld FIELDS TERMINATED BY ','"
	if n, _ := exec(t, c, load).RowsAffected(); n != 20_000 {
		t.Errorf("%d rows loaded, want 20000", n)
	}
	expect(t, rows(t, c, "SELECT COUNT(*), MAX(s) FROM ld"), "20000 row 9999")
	// A row that is there already is left out: the client cannot be stopped, so LOCAL means IGNORE.
	exec(t, c, "DELETE FROM ld WHERE id < 19000")
	if n, _ := exec(t, c, load).RowsAffected(); n != 19_000 {
		t.Errorf("%d rows loaded beside others, want 19000", n)
	}
	// A failure leaves the connection in order, whether the client was asked for the file or not.
	exec(t, c, "CREATE TABLE narrow (id INT PRIMARY KEY, s VARCHAR(100), CHECK (id < 15000))")
	_, err := c.ExecContext(t.Context(), strings.Replace(load, "TABLE ld", "TABLE narrow", 1))
	t.Logf("a row that is not allowed: %v", err)
	expect(t, rows(t, c, "SELECT COUNT(*) FROM ld"), "20000")
	_, err = c.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE '"+path+"' INTO TABLE nowhere")
	failsWith(t, err, 1146)
	expect(t, rows(t, c, "SELECT COUNT(*) FROM ld"), "20000")
}

// The client that most people use.
func TestMariadbClient(t *testing.T) {
	client, err := osexec.LookPath("mariadb")
	if err != nil {
		t.Skip("the mariadb client is not installed")
	}
	s := start(t)
	host, port, _ := net.SplitHostPort(s.Addr().String())
	for name, how := range map[string][]string{
		"socket": {"-S", s.cfg.Socket},
		"tcp":    {"-h", host, "-P", port, "--protocol=tcp", "--ssl=0"},
		"tls":    {"-h", host, "-P", port, "--protocol=tcp", "--ssl"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(text string) string {
				t.Helper()
				cmd := osexec.Command(client, append([]string{"--no-defaults", "-u", "root", "-N", "-B"}, append(how, "-e", text)...)...)
				out, err := cmd.CombinedOutput()
				if err != nil && !strings.Contains(string(out), "ERROR") {
					t.Fatalf("%s: %v\n%s", text, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			db := "c_" + name
			got := run("CREATE DATABASE " + db + "; USE " + db + "; CREATE TABLE t (id INT PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'grün'), (2, NULL); SELECT * FROM t; SELECT COUNT(*) FROM t;")
			if got != "1\tgrün\n2\tNULL\n2" {
				t.Errorf("got %q", got)
			}
			if got := run("SELEC"); !strings.Contains(got, "ERROR 1064 (42000)") {
				t.Errorf("got %q", got)
			}
			if got := run("SHOW STATUS LIKE 'Ssl_version'"); name == "tls" && !strings.Contains(got, "TLS") {
				t.Errorf("Ssl_version: %q", got)
			}
		})
	}
}
