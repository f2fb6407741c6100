package testbed

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// memoryRoom, in bytes, is what some tests at once need: pools of 64 MiB and their rings.
const memoryRoom = 512 << 20

// MemoryDir is a folder for memory that outlives a process, which ends with the test: in /dev/shm where that has room, which in a
// container is often 64 MiB large, or else among the temporary files.
func MemoryDir(t testing.TB) string {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || int64(fs.Bavail)*fs.Bsize < memoryRoom {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "hearth-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
