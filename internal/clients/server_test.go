package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
)

// served is the server that all tests share; each has a database of its own.
var served struct {
	*peer.Server
	dir string // of everything the tests write; its path is short, for that of the socket
}

func TestMain(m *testing.M) {
	code, err := serveTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// serveTests builds the server as users do, starts it, and runs the tests.
func serveTests(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "hearth")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/hearthdb/hearth/cmd/hearth").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the server: %w: %s", err, out)
	}
	log := filepath.Join(dir, "log")
	s, err := peer.Hearth(binary, dir)(peer.Config{Dir: filepath.Join(dir, "s"), Pool: 64 << 20, LogSize: 256 << 20, Log: log})
	if err != nil {
		return 0, err
	}
	if err := s.Start(context.Background()); err != nil {
		return 0, err
	}
	defer s.Kill()
	served.Server, served.dir = s, dir
	code = m.Run()
	if err := s.Exited(); err != nil {
		return code, err
	}
	if err := s.Stop(); err != nil {
		return code, err
	}
	said, err := os.ReadFile(log)
	if err == nil && bytes.Contains(said, []byte("panic")) {
		err = fmt.Errorf("a statement made the server panic:\n%s", said)
	}
	return code, err
}

// patience with one client, installation included.
const patience = 3 * time.Minute

// run runs a program in a folder and returns what it wrote.
func run(t *testing.T, dir, input string, program string, args ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HEARTH_HOST=127.0.0.1", "HEARTH_PORT="+strconv.Itoa(served.Port), "HEARTH_SOCKET="+served.Socket)
	if input != "" {
		cmd.Stdin = bytes.NewReader([]byte(input))
	}
	cmd.WaitDelay = time.Second // a child of a program that was killed may keep its output open
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s has not ended after %v", program, patience)
	}
	return string(out), err
}

// need skips the test if a program is not installed.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("not tested: %s is not installed", program)
	}
}

// install makes a folder with the files of testdata/name and runs commands in it that load what the clients need, such as the
// first of commands; the test is skipped when they fail.
func install(t *testing.T, name string, commands ...[]string) (dir string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("not tested with -short: %s, whose packages are downloaded", name)
	}
	for _, c := range commands {
		if !filepath.IsAbs(c[0]) && filepath.Base(c[0]) == c[0] {
			need(t, c[0])
		}
	}
	dir = filepath.Join(served.dir, name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		if out, err := run(t, dir, "", c[0], c[1:]...); err != nil {
			t.Skipf("not tested: %v: %v: %s", c, err, out)
		}
	}
	return dir
}

// script runs a program of testdata, which ends with an error when it finds one.
func script(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	if out, err := run(t, dir, "", program, args...); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}
