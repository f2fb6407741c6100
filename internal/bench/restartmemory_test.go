package bench

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cached counts the pages of a file that the system has in memory.
func cached(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	page := os.Getpagesize()
	there := make([]byte, (len(m)+page-1)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&there[0]))); errno != 0 {
		t.Fatal("mincore:", errno)
	}
	for _, b := range there {
		n += int(b & 1)
	}
	return n
}

// After a loss of memory there is no region, and no page of the data in the system's cache, written back or not.
func TestLoseMemory(t *testing.T) {
	memory, data := t.TempDir(), t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(data, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("%s has no disk under its cache", data)
	}
	region, file := filepath.Join(memory, "hearth-1.region"), filepath.Join(data, "log", "1")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{region, file} {
		if err := os.WriteFile(name, make([]byte, 1<<20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if cached(t, file) == 0 {
		t.Fatal("what was just written is in no cache: nothing is proved")
	}
	if err := loseMemory(memory, data); err != nil {
		t.Fatal(err)
	}
	if n := cached(t, file); n > 0 {
		t.Errorf("%d pages of the data are still in memory", n)
	}
	if _, err := os.Stat(region); err == nil {
		t.Error("the region is still there")
	}
	if err := loseMemory("", ""); err != nil {
		t.Error("of a server that has neither:", err)
	}
	if err := loseMemory("", filepath.Join(data, "no")); err == nil {
		t.Error("a folder that is not there: no error")
	}
}
