package slowlogd_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hearthdb/hearth/internal/slowlogd"
)

// TestBadFiles has a case for everything that can be wrong with the files of a log. Each makes files before the daemon starts, and
// says what a client that asks for all there is must get: which statements, and what it must be told.
func TestBadFiles(t *testing.T) {
	packed := func(t *testing.T, path string) []byte {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	put := func(t *testing.T, path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := "SELECT '" + strings.Repeat("x", 64<<10) + "'"
	for _, c := range []struct {
		name string
		make func(t *testing.T, s *server) // statements 0 to 4 are in the rotated file
		want []int                         // statements
		told string                        // in a comment
	}{
		{"a folder, a FIFO and a link beside the log", func(t *testing.T, s *server) {
			if err := errors.Join(os.Mkdir(s.path+".2", 0o755), syscall.Mkfifo(s.path+".3", 0o600), os.Symlink("nowhere", s.path+".4")); err != nil {
				t.Fatal(err)
			}
		}, []int{0, 1, 2, 3, 4, 5, 6}, ""},
		{"empty files", func(t *testing.T, s *server) { put(t, s.path+".2", nil); put(t, s.path+".3", nil) }, []int{0, 1, 2, 3, 4, 5, 6}, ""},
		{"a compressed file", func(t *testing.T, s *server) { put(t, s.path+".1.gz", packed(t, s.path+".1")) }, []int{0, 1, 2, 3, 4, 5, 6}, ""},
		{"a compressed file that is being made", func(t *testing.T, s *server) { put(t, s.path+".1.gz", []byte("\x1f\x8b\x08")) }, []int{0, 1, 2, 3, 4, 5, 6}, ""},
		{"a compressed file that is none", func(t *testing.T, s *server) {
			packed(t, s.path+".1")
			put(t, s.path+".1.gz", []byte("this was never compressed"))
		},
			[]int{5, 6}, "skipped a compressed file: gzip: invalid header"},
		{"a compressed file that is cut", func(t *testing.T, s *server) {
			s.rename(keep)
			s.open()
			for range 200 {
				s.put(s.entry(long[:len(long)-s.n*97] + "'"))
			}
			s.rename(keep)
			s.open()
			b := packed(t, s.path+".1")
			put(t, s.path+".1.gz", b[:len(b)/2])
		}, nil, "a compressed file is damaged behind "},
		{"disk full, then a new file", func(t *testing.T, s *server) {
			os.Rename(s.path, s.path+".0")
			s.put(strings.TrimSuffix(s.entry("SELECT 'na"), ";\n"))
			s.open()
			s.write(1)
		}, []int{0, 1, 2, 3, 4, 5, 6, 8}, "the file ends inside an entry"},
		{"disk full, then the next header", func(t *testing.T, s *server) {
			s.put(strings.TrimSuffix(s.entry("SELECT 'na"), ";\n"))
			s.write(2)
		}, []int{0, 1, 2, 3, 4, 5, 6, 8, 9}, ""},
		{"two writers to one log", func(t *testing.T, s *server) {
			a, b := s.entry(""), s.entry("")
			half := strings.Index(a, "# Query_time")
			s.put(a[:half] + b + a[half:])
			s.write(1)
		}, []int{0, 1, 2, 3, 4, 5, 6, 9}, ""},
		{"gzip in the stream", func(t *testing.T, s *server) {
			s.rename(keep)
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			w.Write([]byte("lost"))
			w.Close()
			s.put(b.String() + "\n")
			s.open()
			s.write(1)
		}, []int{0, 1, 2, 3, 4, 5, 6, 7}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "slow.log")
			s := newServer(t, path)
			s.write(5)
			s.rename(keep)
			s.open()
			s.write(2)
			c.make(t, s)
			d := start(t, slowlogd.Config{Log: path})
			got := d.all("?since=start")
			for _, n := range c.want {
				if k := strings.Count(got, fmt.Sprintf("SELECT %d;\n", n)); k != 1 {
					t.Errorf("statement %d came %d times", n, k)
				}
			}
			if !strings.Contains(got, c.told) {
				t.Errorf("nothing is told of %q", c.told)
			}
			if t.Failed() {
				t.Logf("got %.3000q", got)
			}
			if resp, err := http.Get(d.url + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("health: %v, %v", resp, err)
			}
		})
	}
}

// TestBecomesNoFile: a path that becomes a folder or a FIFO is waited at, and a file that comes in its place is read on.
func TestBecomesNoFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"folder":          func(path string) error { return os.Mkdir(path, 0o755) },
		"FIFO":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link to nowhere": func(path string) error { return os.Symlink(path+".nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "slow.log")
			s := newServer(t, path)
			d := start(t, slowlogd.Config{Log: path})
			until(t, "the log is read", func() bool { return d.status().At != "" })
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			body := d.get(ctx, "").Body
			s.write(2)
			s.rename(keep)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			until(t, "it is told why", func() bool { return d.status().Waiting != "" })
			s.write(2) // to the old file
			until(t, "what is open is read on", func() bool { return d.status().Entries == 4 })
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			s.open()
			s.write(2)
			c := reader{}
			c.read(t, body, 6, cancel)
			if c.next != 6 {
				t.Errorf("got %d entries, want 6", c.next)
			}
		})
	}
}

// TestPermissionLost: a new log that may not be read is waited for, what is open is read on, and it goes on when it may be. Root may
// read everything, so that for root the test is run by somebody else.
func TestPermissionLost(t *testing.T) {
	if os.Getuid() == 0 {
		const nobody = 65534
		dir := t.TempDir()
		self := filepath.Join(dir, "self")
		b, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = errors.Join(os.WriteFile(self, b, 0o755), os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestPermissionLost$", "-test.v")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestPermissionLost")) {
			t.Fatalf("as nobody: %v\n%s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body := d.get(ctx, "").Body
	s.write(2)
	s.rename(keep)
	s.write(2)
	s.open()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	s.write(2)
	until(t, "it is told why", func() bool { return strings.Contains(d.status().Waiting, "permission denied") })
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	c := reader{}
	c.read(t, body, 6, cancel)
	if c.next != 6 {
		t.Errorf("got %d entries, want 6", c.next)
	}
	until(t, "all is well", func() bool { return d.status().Waiting == "" })
}

// TestTooManyClients: one beyond the bound is told when to come back, and nobody else notices.
func TestTooManyClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	d := start(t, slowlogd.Config{Log: path, MaxClients: 1})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body := d.get(ctx, "").Body
	resp, err := http.Get(d.url + "/slow")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %s, Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
	}
	s.write(3)
	c := reader{}
	c.read(t, body, 3, cancel)
	if c.next != 3 {
		t.Errorf("got %d entries, want 3", c.next)
	}
}
