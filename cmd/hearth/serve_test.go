package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asCommand in the environment makes the test binary the command itself.
const asCommand = "HEARTH_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// hearthCommand is the command as a process of its own.
func hearthCommand(env []string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(append(os.Environ(), asCommand+"=1"), env...)
	return c
}

func TestServeConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hearth.cnf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	print := func(env []string, args ...string) (string, string) {
		t.Helper()
		c := hearthCommand(env, append([]string{"serve", "--print-config"}, args...)...)
		var out, bad bytes.Buffer
		c.Stdout, c.Stderr = &out, &bad
		c.Run()
		return out.String(), bad.String()
	}
	write("# a comment\n[hearth]\nlisten = 127.0.0.1:1\nmax_connections = 11\npool = '96MiB'\nflush\n")
	out, _ := print([]string{"HEARTH_LISTEN=127.0.0.1:2", "HEARTH_DATA=/from/env"}, "--config", file, "--max-connections", "12")
	for _, line := range []string{
		"data = /from/env",       // the environment
		"listen = 127.0.0.1:2",   // the environment goes before the file
		"max-connections = 12",   // a flag before both
		"pool = 100663296",       // the file
		"flush = true",           // a name alone is a yes
		"durability = commit",    // the default
		"shutdown-timeout = 10s", // with its unit
	} {
		if !strings.Contains(out, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	// What is printed is a file that says the same.
	write(out)
	again, bad := print(nil, "--config", file)
	if again != out {
		t.Errorf("printed again:\n%s\nwant\n%s%s", again, out, bad)
	}
	for text, words := range map[string]string{
		"lisen = x":                 `"lisen"`,
		"listen = a\nlisten = b":    "twice",
		"max-connections = many":    "max-connections",
		"pool = 1\npool_size = 100": `"pool-size"`,
		// 0 is no other word for the default.
		"prewarm_limit = 0s":      "--prewarm-limit is 0s",
		"prewarm_floor = 0":       "--prewarm-floor is 0, want 1 to 90",
		"heat_dump_percent = 0":   "--heat-dump-percent is 0, want 1 to 100",
		"heat_dump_interval = 0s": "--heat-dump-interval is 0s",
	} {
		write(text)
		if _, bad := print(nil, "--config", file); !strings.Contains(bad, words) {
			t.Errorf("%q: %q, want %s in it", text, bad, words)
		}
	}
}

// A server as its users start and stop it.
func TestServe(t *testing.T) {
	dir, err := os.MkdirTemp("", "hearth-serve-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	args := []string{"serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--pool", "16MiB", "--log", "256MiB", "--memory", "off", "--log-level", "error"}
	serve := func() (*exec.Cmd, *bufio.Scanner) {
		t.Helper()
		c := hearthCommand(nil, args...)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "connect with: ") {
				return c, lines
			}
		}
		t.Fatal("the server said nothing of how to connect")
		return nil, nil
	}
	first, lines := serve()
	first.Process.Signal(syscall.SIGHUP) // is about logs, and does not end it

	second := hearthCommand(nil, args...)
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "is in use") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("a second server in the same directory: %v, %q", err, out)
	}

	first.Process.Signal(syscall.SIGTERM)
	var last string
	for lines.Scan() {
		last = lines.Text()
	}
	if err := first.Wait(); err != nil || last != "stopped" {
		t.Errorf("after SIGTERM: %v, last words %q", err, last)
	}

	killed, _ := serve()
	killed.Process.Kill()
	killed.Wait()
	if _, err := os.Stat(filepath.Join(dir, "data", "mysql.sock")); err != nil {
		t.Errorf("a killed server leaves its socket: %v", err)
	}
	after, _ := serve()
	after.Process.Signal(syscall.SIGINT)
	done := make(chan error, 1)
	go func() { done <- after.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("after SIGINT: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the server does not end")
	}
}
