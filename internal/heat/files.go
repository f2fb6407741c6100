package heat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// Dumps are kept under numbers that rise, so that their order does not depend on a clock.
const nameFormat = "%010d.heat"

func nameOf(no uint64) string { return fmt.Sprintf(nameFormat, no) }

func numberOf(name string) (no uint64, ok bool) {
	_, err := fmt.Sscanf(name, nameFormat, &no)
	return no, err == nil && name == nameOf(no)
}

// folder is the directory of the dumps that are kept.
type folder struct {
	fs  file.FS
	dir string
}

// numbers of the dumps in it, descending.
func (d folder) numbers() ([]uint64, error) {
	entries, err := d.fs.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var nos []uint64
	for _, e := range entries {
		if no, ok := numberOf(e.Name()); ok {
			nos = append(nos, no)
		}
	}
	slices.Sort(nos)
	slices.Reverse(nos)
	return nos, nil
}

func (d folder) path(no uint64) string { return filepath.Join(d.dir, nameOf(no)) }

// next makes the folder if need be, and says what the next dump is called.
func (d folder) next() (string, error) {
	if err := d.fs.MkdirAll(d.dir, 0o700); err != nil {
		return "", err
	}
	if err := d.fs.SyncDir(filepath.Dir(d.dir)); err != nil {
		return "", err
	}
	nos, err := d.numbers()
	if err != nil {
		return "", err
	}
	no := uint64(1)
	if len(nos) > 0 {
		no = nos[0] + 1
	}
	return d.path(no), nil
}

// prune removes all dumps but the newest.
func (d folder) prune(keep int) error {
	nos, err := d.numbers()
	if err != nil {
		return err
	}
	var errs []error
	for _, no := range nos[min(keep, len(nos)):] {
		errs = append(errs, d.fs.Remove(d.path(no)))
	}
	return errors.Join(errs...)
}

// replaceable: a dump under a name that somebody gives takes the place of a dump, or of nothing, and so does what it is called while it
// is written. The files of the database stand in the same directory.
func replaceable(fsys file.FS, name string) error {
	if name == "" {
		return nil
	}
	if err := isDump(fsys, name, false); err != nil {
		return err
	}
	return isDump(fsys, name+newSuffix, true) // a death leaves it as it was then
}

// isDump says what is wrong if something else than a dump has a name.
func isDump(fsys file.FS, name string, orEmpty bool) error {
	f, err := open(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if errors.Is(err, ErrNotDump) {
		return fmt.Errorf("%w; it is not replaced by one: choose another name", err)
	} else if err != nil {
		return err
	}
	defer f.Close()
	if size, err := f.Size(); err == nil && size == 0 && orEmpty {
		return nil
	}
	b := make([]byte, len(magic))
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != magic {
		return fmt.Errorf("%s %w, and is not replaced by one: choose another name", name, ErrNotDump)
	}
	return nil
}

// open opens what may be a dump. It must be a regular file: who opens a pipe waits for ever, and a device may have no end.
func open(fsys file.FS, name string) (file.File, error) {
	i, err := fsys.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrNoDump, err)
	case err != nil:
		return nil, err
	case !i.Mode().IsRegular():
		return nil, fmt.Errorf("%s %w: it is no regular file", name, ErrNotDump)
	}
	return fsys.OpenFile(name, file.ReadOnly, 0)
}

// ReadFile reads a dump and proves it whole; see Read.
func ReadFile(fsys file.FS, name string, tell func(band int, id page.ID)) (Header, error) {
	f, err := open(fsys, name)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return Header{}, err
	}
	return Read(io.NewSectionReader(f, 0, size), size, name, tell)
}

// readFor reads a dump for a database, of which it keeps the hottest pages.
func readFor(fsys file.FS, name string, uuid [16]byte, most int) (*list, error) {
	l := &list{file: name, most: most}
	h, err := ReadFile(fsys, name, l.add)
	if err != nil {
		return nil, err
	}
	if h.UUID != uuid {
		return nil, fmt.Errorf("%w: %s lists pages of the database %x, this one is %x; dumps fit the server that wrote them, its replicas and its backups",
			ErrForeign, name, h.UUID, uuid)
	}
	l.header = h
	return l, nil
}
