package file

import (
	"errors"
	"io"
	"io/fs"
)

// Alignment, in bytes, is what a file opened Direct asks of offsets, lengths and memory. It is the largest logical
// block any disk we know has; smaller ones take it too.
const Alignment = 4096

// ErrInUse is returned by Lock when somebody else holds the lock.
var ErrInUse = errors.New("in use by another process")

// OpenFlag says how a file is opened. Exactly one of ReadOnly and ReadWrite must be given.
type OpenFlag uint8

const (
	ReadOnly  OpenFlag = 1 << iota
	ReadWrite          // reading and writing
	Create             // make the file when it is missing
	Exclusive          // with Create: fail with fs.ErrExist when it is there
	Exact              // through the page cache, of which nothing is read ahead: see POSIX_FADV_RANDOM in posix_fadvise(2)
	Direct             // past the page cache when the file system can, silently through it when not; see File.Direct
)

// FS is a file system. Names are paths as the os package takes them.
type FS interface {
	OpenFile(name string, flag OpenFlag, perm fs.FileMode) (File, error)
	Remove(name string) error
	// Rename replaces what is called newName in one step.
	Rename(oldName, newName string) error
	MkdirAll(dir string, perm fs.FileMode) error
	// ReadDir lists a directory sorted by name.
	ReadDir(dir string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// Lock makes the file when it is missing and locks it against every other opener, or fails with ErrInUse.
	// The lock ends with Close or with the process.
	Lock(name string) (io.Closer, error)
	// Free is how many bytes may still be written below dir.
	Free(dir string) (uint64, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	// Direct says whether reads and writes go past the page cache, so that rule 4 holds.
	Direct() bool
	// ReadVecAt fills the buffers in turn from consecutive bytes; WriteVecAt writes them so. Ends as ReadAt and WriteAt do.
	ReadVecAt(bufs [][]byte, off int64) (int, error)
	WriteVecAt(bufs [][]byte, off int64) (int, error)
	// AtomicUnit is how many bytes WriteAtomic can write so that a crash leaves all or none of them; 0 = none.
	AtomicUnit() int
	// WriteAtomic writes p, a power of two of bytes up to AtomicUnit, at a multiple of len(p). Durable after Sync.
	WriteAtomic(p []byte, off int64) error
	// Sync is fdatasync.
	Sync() error
	Truncate(size int64) error
	// Allocate takes room for [off, off+n), growing the file when it is shorter. Bytes already there stay, new ones are zero.
	Allocate(off, n int64) error
	// Punch zeroes [off, off+n) and gives the room back. The size stays.
	Punch(off, n int64) error
	Size() (int64, error)
}
