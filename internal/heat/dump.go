package heat

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// newSuffix ends the name of a dump that is being written.
const newSuffix = ".new"

// chunkLen is how many pages are sorted at a time: some 100 us, after which others run.
const chunkLen = 2048

// writeLen, in bytes, is one write of a dump.
const writeLen = 64 << 10

// bandOf is the band of a heat word: its logarithm, so that a band holds pages that differ by a factor of two at most.
func bandOf(heat uint32) int { return bits.Len32(heat) }

// bandHeat is the least heat word in a band.
func bandHeat(band int) uint32 {
	if band == 0 {
		return 0
	}
	return 1 << (band - 1)
}

// snapshot is what the pool holds, by band; in each, chunks of ascending ids.
type snapshot struct {
	bands [maxBands][][]page.ID
	*breath
}

// take walks over the pool.
func take(ctx context.Context, p *pool.Pool, b *breath) (*snapshot, error) {
	s := &snapshot{breath: b}
	for slice := range p.Snapshot() {
		for _, w := range slice {
			s.add(bandOf(w.Heat), w.ID)
		}
		s.breathe()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, chunks := range s.bands {
		for _, c := range chunks {
			slices.Sort(c)
			s.breathe()
		}
	}
	return s, nil
}

func (s *snapshot) add(band int, id page.ID) {
	b := &s.bands[band]
	if n := len(*b); n == 0 || len((*b)[n-1]) == chunkLen {
		*b = append(*b, make([]page.ID, 0, chunkLen))
	}
	last := &(*b)[len(*b)-1]
	*last = append(*last, id)
}

// merge gives the ids of a band in ascending order, each once: a page that moved under the walk may have been seen twice.
func (s *snapshot) merge(band int) []page.ID {
	chunks := s.bands[band]
	for len(chunks) > 1 {
		var next [][]page.ID
		for pair := range slices.Chunk(chunks, 2) {
			if len(pair) == 1 {
				next = append(next, pair[0])
				continue
			}
			next = append(next, s.mergeTwo(pair[0], pair[1]))
		}
		chunks = next
	}
	if len(chunks) == 0 {
		return nil
	}
	return slices.Compact(chunks[0])
}

func (s *snapshot) mergeTwo(a, b []page.ID) []page.ID {
	out := make([]page.ID, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
		if len(out)%chunkLen == 0 {
			s.breathe()
		}
	}
	return append(append(out, a...), b...)
}

// hottest is the pages of the dump: bands from hot to cold, most pages in all.
func (s *snapshot) hottest(most uint64) (bands []Band, ids [][]page.ID) {
	for band := maxBands - 1; band >= 0 && most > 0; band-- {
		list := s.merge(band)
		list = list[:min(uint64(len(list)), most)]
		if len(list) == 0 {
			continue
		}
		most -= uint64(len(list))
		bands = append(bands, Band{bandHeat(band), uint64(len(list))})
		ids = append(ids, list)
	}
	return bands, ids
}

// write makes a dump durable under a name (rule 1).
func write(ctx context.Context, fsys file.FS, name string, h *Header, ids [][]page.ID, b *breath) (err error) {
	temp := name + newSuffix
	f, err := fsys.OpenFile(temp, file.ReadWrite|file.Create, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			fsys.Remove(temp) // what is left of it is nobody's, and replaced by the next
		}
	}()
	if err = f.Truncate(0); err == nil { // a death may have left a longer one
		if err = writeAll(ctx, f, h, ids, b); err == nil {
			err = f.Sync()
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

func writeAll(ctx context.Context, f file.File, h *Header, ids [][]page.ID, b *breath) error {
	var off int64
	for piece := range encoded(h, ids) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := f.WriteAt(piece, off); err != nil {
			return err // has the name
		}
		off += int64(len(piece))
		b.breathe()
	}
	return nil
}

// encoded is the bytes of a dump, in pieces that are valid until the next.
func encoded(h *Header, ids [][]page.ID) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		buf := append(make([]byte, 0, writeLen+idLen), h.encode()...)
		sum := uint32(0)
		for _, list := range ids {
			for _, id := range list {
				if buf = binary.BigEndian.AppendUint64(buf, uint64(id)); len(buf) < writeLen {
					continue
				}
				sum = crc32.Update(sum, castagnoli, buf)
				if !yield(buf) {
					return
				}
				buf = buf[:0]
			}
		}
		sum = crc32.Update(sum, castagnoli, buf)
		yield(binary.BigEndian.AppendUint32(buf, sum))
	}
}
