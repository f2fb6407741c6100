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

// run is ascending page ids, each once, in chunks of chunkLen at most: a dump of any size is made without a piece of memory, or of
// work, that is longer.
type run [][]page.ID

// snapshot is what the pool holds, by band.
type snapshot struct {
	bands [maxBands][][]page.ID // as they were seen, in chunks
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
func (s *snapshot) merge(band int) run {
	var runs []run
	for _, c := range s.bands[band] {
		slices.Sort(c)
		runs = append(runs, run{slices.Compact(c)})
		s.breathe()
	}
	s.bands[band] = nil
	for len(runs) > 1 {
		var next []run
		for pair := range slices.Chunk(runs, 2) {
			if len(pair) == 1 {
				next = append(next, pair[0])
				continue
			}
			next = append(next, s.mergeTwo(pair[0], pair[1]))
		}
		runs = next
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

// mergeTwo uses a and b up.
func (s *snapshot) mergeTwo(a, b run) run {
	var out run
	c := make([]page.ID, 0, chunkLen)
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		for len(c) < chunkLen && len(x) > 0 && len(y) > 0 {
			switch {
			case x[0] < y[0]:
				c, x = append(c, x[0]), x[1:]
			case x[0] > y[0]:
				c, y = append(c, y[0]), y[1:]
			default:
				c, x, y = append(c, x[0]), x[1:], y[1:]
			}
		}
		a, b = a.from(x), b.from(y)
		if len(c) == chunkLen {
			out, c = append(out, c), make([]page.ID, 0, chunkLen)
		}
		s.breathe()
	}
	if len(c) > 0 {
		out = append(out, c)
	}
	return append(append(out, a...), b...) // chunks, not ids: 32,768 for a TiB of pool
}

// from is the run from where its first chunk is left.
func (r run) from(first []page.ID) run {
	if len(first) == 0 {
		return r[1:]
	}
	r[0] = first
	return r
}

// hottest is the pages of the dump: bands from hot to cold, most pages in all, in chunks.
func (s *snapshot) hottest(most uint64) (bands []Band, ids [][]page.ID) {
	for band := maxBands - 1; band >= 0 && most > 0; band-- {
		pages := uint64(0)
		for _, c := range s.merge(band) {
			if c = c[:min(uint64(len(c)), most)]; len(c) == 0 {
				break
			}
			most -= uint64(len(c))
			pages += uint64(len(c))
			ids = append(ids, c)
		}
		if pages > 0 {
			bands = append(bands, Band{bandHeat(band), pages})
		}
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
