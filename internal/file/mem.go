package file

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// sectorSize, in bytes, is what a crashing disk writes whole or not at all. Disks with 4 KiB sectors are kinder.
const sectorSize = 512

// memFree, in bytes, is what Free of a Mem says. A test that wants a full disk injects ENOSPC by OnOp.
const memFree = 1 << 40

// Mem is a disk in memory. It keeps beside what a process sees what a power cut would leave, and Clone makes a second
// disk from the one or the other, or from chance between the two. The same seed and the same calls in the same order give the same disks.
type Mem struct {
	mu   sync.Mutex // guards everything below and every inode
	rng  *rand.Rand
	root *inode
	dirs []dirChange // changes of names not yet durable, oldest first
	unit int         // AtomicUnit of files opened Direct
	ops  int
	hook func(Op) error
}

// NewMem is an empty disk. Every choice a crash makes comes from seed.
func NewMem(seed uint64) *Mem {
	return &Mem{rng: newRand(seed), root: newDir(0o755)}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6865617274680000)) }

// SetAtomicUnit makes files that are opened Direct from now on take WriteAtomic of up to n bytes.
func (m *Mem) SetAtomicUnit(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unit = n
}

// find walks to name.
func (m *Mem) find(op, name string) (*inode, error) {
	n := m.root
	for _, part := range parts(name) {
		if n.names == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: unix.ENOTDIR}
		}
		next, ok := n.names[part]
		if !ok {
			return nil, &fs.PathError{Op: op, Path: name, Err: unix.ENOENT}
		}
		n = next
	}
	return n, nil
}

// findParent walks to the directory that holds, or would hold, name.
func (m *Mem) findParent(op, name string) (*inode, string, error) {
	p := parts(name)
	if len(p) == 0 {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: unix.EINVAL}
	}
	dir, err := m.find(op, strings.Join(p[:len(p)-1], "/"))
	if err == nil && dir.names == nil {
		err = unix.ENOTDIR
	}
	if err != nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: cause(err)}
	}
	return dir, p[len(p)-1], nil
}

// parts splits a path; the working directory of a Mem is its root.
func parts(name string) []string {
	name = strings.Trim(filepath.Clean("/"+name), "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

// cause takes an error out of its PathError, to name another path with it.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}

func (m *Mem) OpenFile(name string, flag OpenFlag, perm fs.FileMode) (File, error) {
	osFlags(name, flag) // panics on flags that contradict each other
	if err := m.before(Op{Kind: OpOpen, Name: name}); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.findParent("open", name)
	if err != nil {
		return nil, err
	}
	n, ok := dir.names[base]
	switch {
	case ok && flag&Exclusive != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.EEXIST}
	case ok && n.names != nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.EISDIR}
	case !ok && flag&Create == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
	case !ok:
		n = newFile(perm)
		m.change(nameChange{dir, base, n})
	}
	f := &memFile{m: m, n: n, name: name, direct: flag&Direct != 0, readOnly: flag&ReadOnly != 0}
	if f.direct {
		f.unit = m.unit
	}
	return f, nil
}

func (m *Mem) Remove(name string) error {
	if err := m.before(Op{Kind: OpRemove, Name: name}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("remove", name)
	if err != nil {
		return err
	}
	if len(n.names) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: unix.ENOTEMPTY}
	}
	dir, base, err := m.findParent("remove", name)
	if err != nil {
		return err
	}
	m.change(nameChange{dir, base, nil})
	return nil
}

func (m *Mem) Rename(oldName, newName string) error {
	if err := m.before(Op{Kind: OpRename, Name: oldName, NewName: newName}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("rename", oldName)
	if err != nil {
		return err
	}
	from, oldBase, err := m.findParent("rename", oldName)
	if err != nil {
		return err
	}
	to, newBase, err := m.findParent("rename", newName)
	if err != nil {
		return err
	}
	if from == to && oldBase == newBase {
		return nil
	}
	m.change(nameChange{from, oldBase, nil}, nameChange{to, newBase, n})
	return nil
}

func (m *Mem) MkdirAll(dir string, perm fs.FileMode) error {
	if err := m.before(Op{Kind: OpMkdir, Name: dir}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.root
	for _, part := range parts(dir) {
		next, ok := at.names[part]
		if !ok {
			next = newDir(perm)
			m.change(nameChange{at, part, next})
		}
		if next.names == nil {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
		}
		at = next
	}
	return nil
}

func (m *Mem) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := m.before(Op{Kind: OpReadDir, Name: dir}); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("readdir", dir)
	if err != nil {
		return nil, err
	}
	if n.names == nil {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: unix.ENOTDIR}
	}
	var list []fs.DirEntry
	for name, n := range n.names {
		list = append(list, fs.FileInfoToDirEntry(n.info(name)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	if err := m.before(Op{Kind: OpStat, Name: name}); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n.info(filepath.Base(name)), nil
}

func (m *Mem) SyncDir(dir string) error {
	if err := m.before(Op{Kind: OpSyncDir, Name: dir}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("fsync", dir)
	if err != nil {
		return err
	}
	m.settleDir(n, len(m.dirs))
	return nil
}

func (m *Mem) Free(dir string) (uint64, error) {
	if err := m.before(Op{Kind: OpStat, Name: dir}); err != nil {
		return 0, err
	}
	return memFree, nil
}

func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, ReadWrite|Create, 0o600)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := f.(*memFile).n
	if n.locked {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrInUse}
	}
	n.locked = true
	return &memLock{m: m, n: n}, nil
}

type memLock struct {
	m *Mem
	n *inode
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.n.locked = false
	return nil
}
