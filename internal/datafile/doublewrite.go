package datafile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// The doublewrite file is slots slots of slotSize bytes. A slot is a header block, then the images of up to maxBatch
// pages, in the order of their ids. All numbers are little endian.
//
//	offset  size
//	     0     8  magic
//	     8     4  format
//	    12     4  count of pages, 1..maxBatch
//	    16     8  sequence: which batch of this life it is, from 1
//	    24     4  CRC32C of the images
//	    28     4  CRC32C of the bytes before, and of the ids
//	    32   8*n  page ids, ascending
//
// A slot whose sums do not match was being written at the crash: then none of its pages had begun to be written home.
const (
	slotMagic  = "HEARTHDW"
	slotFormat = 1
	// maxBatch is how many pages one slot holds (2 MiB). It must be large beside the cost of a sync, and small
	// enough that what waits for a clean frame does not wait long.
	maxBatch = 128
	// slots is how many batches can be on their way at a time: while one is synced, others are written.
	slots = 4

	slotHeader = file.Alignment
	slotSize   = slotHeader + maxBatch*page.Size

	slotIDs = 32 // offset of the first id
)

// The ids must fit in the header block.
const _ = uint(slotHeader - slotIDs - 8*maxBatch)

const doublewriteName = "doublewrite"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNotWhole says that a slot holds no whole batch: nothing, an older format, or a write that a crash cut off.
var errNotWhole = errors.New("no whole batch")

type header struct {
	seq   uint64
	sum   uint32 // of the images
	pages []page.ID
}

// encode fills a header block.
func (h header) encode(block []byte) {
	if len(h.pages) == 0 || len(h.pages) > maxBatch {
		panic(fmt.Sprintf("BUG: a batch of %d pages, want 1 to %d", len(h.pages), maxBatch))
	}
	clear(block)
	copy(block, slotMagic)
	binary.LittleEndian.PutUint32(block[8:], slotFormat)
	binary.LittleEndian.PutUint32(block[12:], uint32(len(h.pages)))
	binary.LittleEndian.PutUint64(block[16:], h.seq)
	binary.LittleEndian.PutUint32(block[24:], h.sum)
	for i, id := range h.pages {
		binary.LittleEndian.PutUint64(block[slotIDs+8*i:], uint64(id))
	}
	binary.LittleEndian.PutUint32(block[28:], headerSum(block, len(h.pages)))
}

func headerSum(block []byte, count int) uint32 {
	sum := crc32.Update(0, castagnoli, block[:28])
	return crc32.Update(sum, castagnoli, block[slotIDs:slotIDs+8*count])
}

// decodeHeader takes any bytes.
func decodeHeader(block []byte) (header, error) {
	if len(block) < slotHeader || string(block[:8]) != slotMagic || binary.LittleEndian.Uint32(block[8:]) != slotFormat {
		return header{}, errNotWhole
	}
	count := binary.LittleEndian.Uint32(block[12:])
	if count == 0 || count > maxBatch || binary.LittleEndian.Uint32(block[28:]) != headerSum(block, int(count)) {
		return header{}, errNotWhole
	}
	h := header{seq: binary.LittleEndian.Uint64(block[16:]), sum: binary.LittleEndian.Uint32(block[24:])}
	for i := range int(count) {
		h.pages = append(h.pages, page.ID(binary.LittleEndian.Uint64(block[slotIDs+8*i:])))
	}
	if !slices.IsSorted(h.pages) {
		return header{}, errNotWhole
	}
	return h, nil
}

// doublewrite guards home writes by rules 4 and 5.
type doublewrite struct {
	set  *Set
	name string
	seq  atomic.Uint64
	free chan int // slots, in the order in which they became free (rule 5)

	mu   sync.Mutex // guards the opening
	file file.File  // nil until the first batch: with atomic writes everywhere there is none

	syncer syncer
	blocks sync.Pool // *[]byte, for headers
}

func newDoublewrite(s *Set) *doublewrite {
	d := &doublewrite{set: s, name: filepath.Join(s.cfg.Dir, doublewriteName), free: make(chan int, slots)}
	d.blocks.New = func() any { b := file.AlignedBuf(slotHeader); return &b }
	for i := range slots {
		d.free <- i
	}
	return d
}

func (d *doublewrite) take(ctx context.Context) (int, error) {
	select {
	case slot := <-d.free:
		// A slot that came back from a failure at home must not be overwritten.
		if stopped := d.set.stopped.Load(); stopped != nil {
			d.give(slot)
			return 0, stopped
		}
		return slot, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (d *doublewrite) give(slot int) { d.free <- slot }

// write makes a batch durable in a slot.
func (d *doublewrite) write(ctx context.Context, slot int, batch []Write) error {
	f, err := d.open()
	if err != nil {
		return fmt.Errorf("open the doublewrite file: %w", err)
	}
	h := header{seq: d.seq.Add(1)}
	for _, w := range batch {
		h.pages = append(h.pages, w.ID)
		h.sum = crc32.Update(h.sum, castagnoli, w.Page[:])
	}
	block := d.blocks.Get().(*[]byte)
	defer d.blocks.Put(block)
	h.encode(*block)
	off := slotOffset(slot)
	bufs := append([][]byte{*block}, bytesOf(batch)...)
	for part := range slices.Chunk(bufs, maxRun) {
		if err := d.set.writeVec(ctx, f, part, off); err != nil {
			return err
		}
		for _, b := range part {
			off += int64(len(b))
		}
	}
	return d.syncer.sync(d.set, f, &d.set.syncs.doublewrite)
}

func slotOffset(slot int) int64 { return int64(slot) * slotSize }

// open makes the file at the first batch, with room for all slots.
func (d *doublewrite) open() (file.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file != nil {
		return d.file, nil
	}
	f, err := d.set.cfg.FS.OpenFile(d.name, file.ReadWrite|file.Create|file.Direct, 0o600)
	if err != nil {
		return nil, err
	}
	if err = f.Allocate(0, slots*slotSize); err == nil {
		err = d.set.cfg.FS.SyncDir(filepath.Dir(d.name))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	d.file = f
	return f, nil
}

func (d *doublewrite) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}
