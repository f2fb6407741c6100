package datafile

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// RestoreTorn mends the pages that a crash tore on their way home, from the whole batches of the doublewrite file, and
// then empties it: an image must not outlive later writes of its page (rule 5 holds within one life). A page at home whose
// checksum matches stays as it is, old or new. A crash meanwhile loses nothing; the next RestoreTorn does it again. It says
// which pages it mended, ascending.
func (s *Set) RestoreTorn() ([]page.ID, error) {
	mended, err := s.restore()
	if err != nil {
		return nil, fmt.Errorf("restore torn pages: %w", err)
	}
	for _, id := range mended {
		s.cfg.Logger.Info("page was torn by a crash, restored from the doublewrite file", "page", id, "readonly", s.cfg.ReadOnly)
	}
	s.restored.Store(true)
	return mended, nil
}

func (s *Set) restore() ([]page.ID, error) {
	images, err := s.images()
	if err != nil {
		return nil, err
	}
	var torn []page.ID
	for _, id := range slices.Sorted(maps.Keys(images)) {
		switch whole, err := s.wholeAtHome(id); {
		case errors.As(err, new(ErrNoSpace)):
			delete(images, id) // the space was removed since
		case err != nil:
			return nil, err
		case !whole:
			torn = append(torn, id)
		}
	}
	if s.cfg.ReadOnly {
		s.mended = map[page.ID]*page.Page{}
		for _, id := range torn {
			s.mended[id] = images[id]
		}
		return torn, nil
	}
	return torn, s.putBack(torn, images)
}

// wholeAtHome says whether the page's bytes in its file agree with each other.
func (s *Set) wholeAtHome(id page.ID) (bool, error) {
	sp, f, err := s.find(id.Space())
	if err != nil {
		return false, err
	}
	home := (*page.Page)(file.AlignedBuf(page.Size))
	if n, err := f.ReadAt(home[:], offset(id)); n < page.Size {
		if err := sp.readEnd(id, err, home[n:]); err != nil {
			return false, err
		}
	}
	return home.Verify(id) == nil, nil
}

// putBack writes torn pages home and empties the doublewrite file. Between the two it syncs the home of every image,
// also where nothing was torn: after the death of the process alone, a page may look whole and not be durable yet.
func (s *Set) putBack(torn []page.ID, images map[page.ID]*page.Page) error {
	for _, id := range torn {
		_, f, err := s.find(id.Space())
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(images[id][:], offset(id)); err != nil {
			return pageError("write", id, err)
		}
	}
	homes := map[uint32]bool{}
	for id := range images {
		homes[id.Space()] = true
	}
	for _, no := range slices.Sorted(maps.Keys(homes)) {
		_, f, err := s.find(no)
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return s.dw.empty()
}

// images is the newest image of every page in the whole batches of the doublewrite file.
func (s *Set) images() (map[page.ID]*page.Page, error) {
	f, err := s.cfg.FS.OpenFile(s.dw.name, file.ReadOnly|file.Direct, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var batches []batch
	for slot := range slots {
		b, err := readSlot(f, slot)
		if errors.Is(err, errNotWhole) {
			continue
		}
		if err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
	slices.SortFunc(batches, func(a, b batch) int { return cmp.Compare(a.seq, b.seq) })
	images := map[page.ID]*page.Page{}
	for _, b := range batches {
		for i, id := range b.pages {
			if b.images[i].Verify(id) == nil {
				images[id] = b.images[i]
			}
		}
	}
	return images, nil
}

// batch is what a slot holds.
type batch struct {
	header
	images []*page.Page
}

func readSlot(f file.File, slot int) (batch, error) {
	block := file.AlignedBuf(slotHeader)
	if err := readWhole(f, block, slotOffset(slot)); err != nil {
		return batch{}, err
	}
	h, err := decodeHeader(block)
	if err != nil {
		return batch{}, err
	}
	buf := file.AlignedBuf(len(h.pages) * page.Size)
	if err := readWhole(f, buf, slotOffset(slot)+slotHeader); err != nil {
		return batch{}, err
	}
	if crc32.Checksum(buf, castagnoli) != h.sum {
		return batch{}, errNotWhole
	}
	b := batch{header: h}
	for p := range slices.Chunk(buf, page.Size) {
		b.images = append(b.images, (*page.Page)(p))
	}
	return b, nil
}

// readWhole takes a file that ends too early, as a crash at its making leaves it, for one without a batch.
func readWhole(f file.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return errNotWhole
	}
	return err
}

// empty takes every batch off the disk.
func (d *doublewrite) empty() error {
	if _, err := d.set.cfg.FS.Stat(d.name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := d.open()
	if err != nil {
		return err
	}
	zeroes := file.AlignedBuf(slotHeader)
	for slot := range slots {
		if _, err := f.WriteAt(zeroes, slotOffset(slot)); err != nil {
			return err
		}
	}
	return f.Sync()
}
