package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OS is the file system of the machine.
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flag OpenFlag, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, osFlags(name, flag), perm)
	if err != nil {
		return nil, err
	}
	of, err := newOSFile(f, flag&Direct != 0)
	if err == nil && flag&Exact != 0 {
		err = of.do("fadvise", func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM) })
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return of, nil
}

// osFlags leaves Direct out, see osFile.tryDirect, and Exact, which is advice.
func osFlags(name string, flag OpenFlag) int {
	var f int
	switch flag & (ReadOnly | ReadWrite) {
	case ReadOnly:
		f = os.O_RDONLY
	case ReadWrite:
		f = os.O_RDWR
	default:
		panic(fmt.Sprintf("BUG: open %s: flags are %05b, want exactly one of ReadOnly and ReadWrite", name, flag))
	}
	if flag&Create != 0 {
		f |= os.O_CREATE
	}
	if flag&Exclusive != 0 {
		f |= os.O_EXCL
	}
	return f
}

func (osFS) Remove(name string) error                    { return os.Remove(name) }
func (osFS) Rename(oldName, newName string) error        { return os.Rename(oldName, newName) }
func (osFS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }
func (osFS) ReadDir(dir string) ([]fs.DirEntry, error)   { return os.ReadDir(dir) }
func (osFS) Stat(name string) (fs.FileInfo, error)       { return os.Stat(name) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

func (osFS) Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bavail * uint64(st.Bsize), nil
}
