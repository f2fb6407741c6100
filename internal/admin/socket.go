package admin

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxSocketPath is the longest path that an address of a Unix socket has room for (sun_path of Linux, less the zero).
const maxSocketPath = 107

// socketPath is a name of the socket in dir that is short enough, valid until done is called.
func socketPath(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, SocketName)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), SocketName), func() { d.Close() }, nil
}
