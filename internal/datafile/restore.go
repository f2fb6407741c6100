package datafile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// restore mends the pages that a crash tore on their way home, from the whole batches of the doublewrite file, and then
// empties it: an image must not outlive later writes of its page (rule 5 holds within one life). A page at home whose
// checksum matches stays as it is, old or new. A crash meanwhile loses nothing; the next restore does it all again.
//
// It lies on the way to the first answer, so only the headers of the slots are read there. They name the suspects: every
// page that can be torn. What follows goes on behind: the images are read, the homes of the suspects checked, torn ones put back,
// homes synced, slots emptied. Until then nothing is written (rule 3), and a suspect is checked by whoever reads it; only who finds
// one torn waits. A page that looks whole and is not durable yet may be read: its image is durable, and stays so until its home is.
type restore struct {
	set      *Set
	slots    []int // with a whole header
	suspects map[page.ID]bool
	mended   atomic.Int32

	done chan struct{} // closed when what follows is known
	err  error
	torn []page.ID              // ascending
	keep map[page.ID]*page.Page // of a read-only set: what is read instead of a torn page
}

// RestoreTorn begins to mend torn pages. It comes before every other call but Create, and is over when Torn says so.
func (s *Set) RestoreTorn() error {
	r := &restore{set: s, suspects: map[page.ID]bool{}, done: make(chan struct{})}
	if err := r.headers(); err != nil {
		return fmt.Errorf("restore torn pages: %w", err)
	}
	s.restore.Store(r)
	s.restored.Store(true)
	if len(r.slots) == 0 {
		r.end()
		return nil
	}
	go func() {
		r.torn, r.err = r.run()
		r.end()
	}()
	return nil
}

// Torn waits for the end of RestoreTorn, and says which pages it mended, ascending.
func (s *Set) Torn(ctx context.Context) ([]page.ID, error) {
	r := s.restore.Load()
	select {
	case <-r.done:
		return r.torn, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Mended is how many torn pages were found since RestoreTorn.
func (s *Set) Mended() int {
	if r := s.restore.Load(); r != nil {
		return int(r.mended.Load())
	}
	return 0
}

func (r *restore) end() {
	s := r.set
	for _, id := range r.torn {
		s.cfg.Logger.Info("page was torn by a crash, restored from the doublewrite file", "page", id, "readonly", s.cfg.ReadOnly)
	}
	if r.err != nil {
		r.err = s.stop(fmt.Errorf("restore torn pages: %w", r.err))
	} else if len(r.keep) == 0 {
		s.suspicious.Store(false)
	}
	close(r.done)
}

// suspect says whether what was just read of page id may be torn.
func (s *Set) suspect(id page.ID) bool {
	return s.suspicious.Load() && s.restore.Load().suspects[id]
}

// settle sees to a suspect that was just read: p is whole when it returns nil.
func (r *restore) settle(ctx context.Context, id page.ID, p *page.Page) error {
	if p.Verify(id) == nil {
		return nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.err != nil {
		return pageError("read", id, r.err)
	}
	if image := r.keep[id]; image != nil {
		*p = *image
		return nil
	}
	sp, f, err := r.set.find(id.Space())
	if err != nil {
		return pageError("read", id, err)
	}
	if n, err := f.ReadAt(p[:], offset(id)); n < page.Size {
		return sp.readEnd(id, err, p[n:])
	}
	return nil
}

// headers finds the slots that may hold a whole batch and the pages in them.
func (r *restore) headers() error {
	s := r.set
	f, err := s.cfg.FS.OpenFile(s.dw.name, file.ReadOnly|file.Direct, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var found [slots]header
	err = together(slots, func(slot int) (err error) {
		if found[slot], err = readHeader(f, slot); errors.Is(err, errNotWhole) {
			return nil
		}
		return err
	})
	for slot, h := range found {
		if len(h.pages) > 0 {
			r.slots = append(r.slots, slot)
			s.suspicious.Store(true)
		}
		for _, id := range h.pages {
			r.suspects[id] = true
		}
	}
	return err
}

// run does what needs the images, and returns the torn pages.
func (r *restore) run() ([]page.ID, error) {
	images, err := r.images()
	if err != nil {
		return nil, err
	}
	ids := slices.Sorted(maps.Keys(images))
	whole, gone := make([]bool, len(ids)), make([]bool, len(ids))
	err = together(len(ids), func(i int) (err error) {
		whole[i], err = r.set.wholeAtHome(ids[i])
		if gone[i] = errors.As(err, new(ErrNoSpace)); gone[i] {
			return nil // the space was removed since
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var torn []page.ID
	for i, id := range ids {
		if gone[i] {
			delete(images, id)
		} else if !whole[i] {
			torn = append(torn, id)
			r.mended.Add(1)
		}
	}
	if !r.set.cfg.ReadOnly {
		return torn, r.set.putBack(torn, images)
	}
	r.keep = map[page.ID]*page.Page{}
	for _, id := range torn {
		r.keep[id] = images[id]
	}
	return torn, nil
}

// wholeAtHome says whether the page's bytes in its file agree with each other.
func (s *Set) wholeAtHome(id page.ID) (bool, error) {
	home := (*page.Page)(file.AlignedBuf(page.Size))
	err := s.with(id.Space(), func(sp *space, f file.File) error {
		begun, err := s.begin(context.Background(), ClassRedo)
		if err != nil {
			return err
		}
		n, err := f.ReadAt(home[:], offset(id))
		s.end(ClassRedo, begun, n, 0)
		if n < page.Size {
			return sp.readEnd(id, err, home[n:])
		}
		return nil
	})
	return err == nil && home.Verify(id) == nil, err
}

// putBack writes torn pages home and empties the doublewrite file. Between the two it syncs the home of every image,
// also where nothing was torn: after the death of the process alone, a page may look whole and not be durable yet.
// A space that is removed meanwhile needs neither.
func (s *Set) putBack(torn []page.ID, images map[page.ID]*page.Page) error {
	for _, id := range torn {
		err := s.with(id.Space(), func(_ *space, f file.File) error {
			_, err := f.WriteAt(images[id][:], offset(id))
			return err
		})
		if err != nil && !errors.As(err, new(ErrNoSpace)) {
			return pageError("write", id, err)
		}
	}
	homes := map[uint32]bool{}
	for id := range images {
		homes[id.Space()] = true
	}
	for _, no := range slices.Sorted(maps.Keys(homes)) {
		if err := s.syncSpace(no); err != nil {
			return err
		}
	}
	return s.dw.empty()
}

// images is the newest image of every page in the whole batches of the doublewrite file.
func (r *restore) images() (map[page.ID]*page.Page, error) {
	f, err := r.set.cfg.FS.OpenFile(r.set.dw.name, file.ReadOnly|file.Direct, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	batches := make([]batch, len(r.slots))
	err = together(len(r.slots), func(i int) (err error) {
		if batches[i], err = readSlot(f, r.slots[i]); errors.Is(err, errNotWhole) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(batches, func(a, b batch) int { return cmp.Compare(a.seq, b.seq) })
	images := map[page.ID]*page.Page{}
	for _, b := range batches {
		for i, image := range b.images {
			if id := b.pages[i]; image.Verify(id) == nil {
				images[id] = image
			}
		}
	}
	return images, nil
}

// batch is what a slot holds; no images when it is not whole.
type batch struct {
	header
	images []*page.Page
}

func readHeader(f file.File, slot int) (header, error) {
	block := file.AlignedBuf(slotHeader)
	if err := readWhole(f, block, slotOffset(slot)); err != nil {
		return header{}, err
	}
	return decodeHeader(block)
}

func readSlot(f file.File, slot int) (batch, error) {
	h, err := readHeader(f, slot)
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
	return d.syncer.sync(d.set, f, &d.set.syncs.doublewrite)
}
