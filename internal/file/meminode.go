package file

import (
	"io/fs"
	"maps"
	"time"
)

// inode is a file or a directory of a Mem.
type inode struct {
	mode   fs.FileMode
	locked bool

	// A directory: what a process sees, and what a power cut would leave. Both nil in a file.
	names, keptNames map[string]*inode

	// A file: the same two, and the changes that lead from the second to the first.
	data, kept blob
	unsynced   []change
}

func newDir(perm fs.FileMode) *inode {
	return &inode{mode: perm | fs.ModeDir, names: map[string]*inode{}, keptNames: map[string]*inode{}}
}

func newFile(perm fs.FileMode) *inode {
	return &inode{mode: perm, data: newBlob(), kept: newBlob()}
}

// do makes a change visible. It is durable after sync.
func (n *inode) do(c change) {
	c.apply(&n.data)
	n.unsynced = append(n.unsynced, c)
}

func (n *inode) sync() {
	for _, c := range n.unsynced {
		c.apply(&n.kept)
	}
	n.unsynced = nil
}

// failSync is why rule 3 exists: the kernel calls what it could not write clean. Everybody goes on reading it, no
// later sync writes it, and a power cut takes it away.
func (n *inode) failSync() { n.unsynced = nil }

func (n *inode) info(name string) fs.FileInfo {
	return memInfo{name: name, size: n.data.size, mode: n.mode}
}

type memInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }

// chunkSize, in bytes, is the unit in which clones share memory.
const chunkSize = 4096

// blob is the bytes of a file, with holes. Clones share chunks until one of them writes.
type blob struct {
	size   int64
	chunks map[int64]*chunk // by position divided by chunkSize; a missing one is zero
	owner  *owner           // chunks of another owner are copied before a write
}

type chunk struct {
	owner *owner
	bytes [chunkSize]byte
}

// owner is compared by address only; the byte gives it one.
type owner struct{ _ byte }

func newBlob() blob { return blob{chunks: map[int64]*chunk{}, owner: new(owner)} }

func (b *blob) clone() blob {
	b.owner = new(owner)
	return blob{size: b.size, chunks: maps.Clone(b.chunks), owner: new(owner)}
}

// own is the chunk i, ready to be written.
func (b *blob) own(i int64) *chunk {
	c := b.chunks[i]
	if c == nil {
		c = &chunk{owner: b.owner}
	} else if c.owner != b.owner {
		c = &chunk{owner: b.owner, bytes: c.bytes}
	}
	b.chunks[i] = c
	return c
}

func (b *blob) read(p []byte, off int64) int {
	p = p[:max(0, min(int64(len(p)), b.size-off))]
	for done := 0; done < len(p); {
		at := off + int64(done)
		part := p[done:min(len(p), done+int(chunkSize-at%chunkSize))]
		if c := b.chunks[at/chunkSize]; c != nil {
			copy(part, c.bytes[at%chunkSize:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(p)
}

func (b *blob) write(p []byte, off int64) {
	for len(p) > 0 {
		n := copy(b.own(off / chunkSize).bytes[off%chunkSize:], p)
		p, off = p[n:], off+int64(n)
		b.size = max(b.size, off)
	}
}

// zero clears [off, off+n); the size stays.
func (b *blob) zero(off, n int64) {
	for n > 0 {
		part := min(n, chunkSize-off%chunkSize)
		switch i := off / chunkSize; {
		case part == chunkSize:
			delete(b.chunks, i)
		case b.chunks[i] != nil:
			clear(b.own(i).bytes[off%chunkSize : off%chunkSize+part])
		}
		off, n = off+part, n-part
	}
}

// resize cuts or grows the file; bytes beyond the size are zero at all times.
func (b *blob) resize(size int64) {
	if size < b.size {
		b.zero(size, b.size-size)
	}
	b.size = size
}
