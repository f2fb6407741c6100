package slowlogd

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

// headBytes is how much of a file its fingerprint covers: beyond the banner, so that the first entry is in it.
const headBytes = 1024

// print is what a file is known by: its first bytes, as many as there are, and its inode, which decides between files whose
// first bytes are equal because there are so few.
type print struct {
	length int
	sum    uint64
	inode  uint64
}

func (p print) String() string { return fmt.Sprintf("%d-%016x-%x", p.length, p.sum, p.inode) }

func parsePrint(s string) (print, error) {
	var p print
	if n, err := fmt.Sscanf(s, "%d-%x-%x", &p.length, &p.sum, &p.inode); n != 3 || err != nil || p.length < 0 || p.length > headBytes {
		return print{}, fmt.Errorf("%q names no file; a token looks like 1024-00112233445566aa-1f:4096", s)
	}
	return p, nil
}

func sum(head []byte) uint64 {
	h := fnv.New64a()
	h.Write(head)
	return h.Sum64()
}

// matches says whether a file that begins with head is the one that p was made of, perhaps when it was shorter.
func (p print) matches(head []byte) bool {
	return len(head) >= p.length && sum(head[:p.length]) == p.sum
}

// isAll says the same of files that are not written any more: one that is shorter than a fingerprint is as long as its own.
// Without that a file that never had an entry, and so consists of a banner, would match all others.
func (p print) isAll(head []byte) bool {
	return p.matches(head) && (p.length == headBytes || p.length == len(head))
}

// hasEntry says whether there is more than a banner in the first bytes of a file: the header of an entry.
func hasEntry(head []byte) bool {
	return bytes.HasPrefix(head, entryStart) || bytes.Contains(head, lineEntryStart)
}

var entryStart, lineEntryStart = []byte("# "), []byte("\n# ")

// readHead reads the first bytes of a file.
func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

func headOf(f *os.File) ([]byte, error) { return readHead(io.NewSectionReader(f, 0, headBytes)) }

func inodeOf(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// sibling is one of the files that are, or were, the log.
type sibling struct {
	path   string
	stem   string // the name without the ending of a compressed file
	packed string // ".gz", ".zst" or nothing
	active bool   // it has the log's own name, so that it is the newest
	info   fs.FileInfo
}

// packedEndings are of files that can be read.
var packedEndings = []string{".gz", ".zst"}

// openSibling opens a file for reading from its start, unpacked.
func openSibling(s sibling) (io.ReadCloser, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	r, err := unpack(f, s.packed)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return joinedCloser{r, []io.Closer{r, f}}, nil
}

// unpack reads a file from its start. Closing does not close the file.
func unpack(f io.ReaderAt, packed string) (io.ReadCloser, error) {
	src := io.NewSectionReader(f, 0, math.MaxInt64)
	switch packed {
	case ".gz":
		return gzip.NewReader(src)
	case ".zst":
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(src), nil
}

type joinedCloser struct {
	io.Reader
	closers []io.Closer
}

func (j joinedCloser) Close() error {
	var errs []error
	for _, c := range j.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// activeFile is the file that is written now: path itself, or, where the server numbers its files from the start
// ("log.000001"), the last one of them.
func activeFile(path string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return path, info, err
	}
	numbered, _ := filepath.Glob(escapeGlob(path) + ".*")
	numbered = slices.DeleteFunc(numbered, func(name string) bool {
		n := name[len(path)+1:]
		return len(n) < serverDigits || !isDigits(n)
	})
	if len(numbered) == 0 {
		return path, nil, err
	}
	last := slices.MaxFunc(numbered, func(a, b string) int { return natural(a, b) })
	info, err = os.Stat(last)
	return last, info, err
}

// serverDigits is how long the numbers are that a server gives its files; logrotate's are shorter, and count the other way.
const serverDigits = 6

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// listings is how often a folder is listed until it holds still.
const listings = 50

// siblings lists the log and the files it was rotated to, the oldest first. A file that is renamed while its folder is listed
// can be missing in the list, so that only a list counts that comes twice.
func siblings(path string) (all []sibling, err error) {
	for range listings {
		before := all
		if all, err = listSiblings(path); err != nil {
			return nil, err
		}
		if before != nil && slices.EqualFunc(before, all, func(a, b sibling) bool { return a.path == b.path && os.SameFile(a.info, b.info) }) {
			break
		}
	}
	return all, nil
}

func listSiblings(path string) ([]sibling, error) {
	active, _, err := activeFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	real := active
	if target, err := filepath.EvalSymlinks(active); err == nil {
		real = target
	}
	all := []sibling{}
	linked := false
	add := func(dir, base string) error {
		names, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, n := range names {
			s := sibling{path: filepath.Join(dir, n.Name()), stem: n.Name()}
			for _, ending := range packedEndings {
				if stem, ok := strings.CutSuffix(s.stem, ending); ok {
					s.stem, s.packed = stem, ending
				}
			}
			if !belongs(s.stem, base, linked) || !n.Type().IsRegular() {
				continue
			}
			if s.info, err = n.Info(); err != nil { // it was renamed while we looked
				continue
			}
			s.active = !linked && s.path == path
			all = append(all, s)
		}
		return nil
	}
	if linked = isLink(active); linked {
		if err := add(filepath.Dir(real), filepath.Base(real)); err != nil {
			return nil, err
		}
	}
	if err := add(filepath.Dir(path), filepath.Base(path)); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b sibling) int { return older(filepath.Base(path), a, b) })
	return slices.CompactFunc(all, func(a, b sibling) bool {
		return os.SameFile(a.info, b.info) || a.stem == b.stem && filepath.Dir(a.path) == filepath.Dir(b.path)
	}), nil
}

// belongs says whether a name is that of the log, of a rotated one ("log.1", "log-20260102", "log.2026-01-02"), or, where the
// log is a symbolic link, like that of its target but for the digits.
func belongs(name, base string, linked bool) bool {
	if name == base || linked && skeleton(name) == skeleton(base) {
		return true
	}
	rest, ok := strings.CutPrefix(name, base)
	return ok && len(rest) > 1 && strings.ContainsRune(".-_", rune(rest[0])) && rest[1] >= '0' && rest[1] <= '9'
}

// skeleton is a name with each number replaced.
func skeleton(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			b.WriteByte(s[i])
		} else if i == 0 || s[i-1] < '0' || s[i-1] > '9' {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// older orders files by their names, the oldest first (rule 3), a plain file before its compressed copy.
func older(base string, a, b sibling) int {
	if a.active != b.active {
		return btoi(a.active) - btoi(b.active)
	}
	na, shortA := backwards(a.stem, base)
	nb, shortB := backwards(b.stem, base)
	switch {
	case shortA && shortB:
		return cmp.Or(cmp.Compare(nb, na), cmp.Compare(a.packed, b.packed))
	case shortA == shortB:
		return cmp.Or(natural(a.stem, b.stem), cmp.Compare(a.packed, b.packed))
	default:
		return a.info.ModTime().Compare(b.info.ModTime())
	}
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// backwards is the number of a file of the kind "log.7", whose numbers grow with age.
func backwards(name, base string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(name, base+".")
	if !ok || len(rest) >= serverDigits || !isDigits(rest) {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}

// natural compares names with numbers in them as a person does.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := leadingDigits(a), leadingDigits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// headOfSibling reads the first bytes of a file, unpacked.
func headOfSibling(s sibling) ([]byte, error) {
	r, err := openSibling(s)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readHead(r)
}

// checkLog refuses what is no log, before a server is started for it. A log that is not there yet is one.
func checkLog(path string) error {
	name, info, err := activeFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("--log %s: there is no folder %s", path, filepath.Dir(path))
		}
		return nil
	case err != nil:
		return fmt.Errorf("--log: %w", err)
	case info.IsDir():
		return fmt.Errorf("--log %s is a folder; name the file, as SELECT @@slow_query_log_file tells it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("--log %s is no ordinary file (%s): it cannot be read again for a client that comes back", path, info.Mode().Type())
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // it was rotated right now
		return nil
	}
	if err != nil {
		return fmt.Errorf("--log: %w; run the daemon as a member of the log's group, or make the log readable (umask of the server, create of logrotate)", err)
	}
	return f.Close()
}

// minLook is how long is waited before a path is looked up again that is about to come back.
const minLook = 5 * time.Millisecond
