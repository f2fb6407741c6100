package wal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// readAhead, in bytes, is how much a Reader takes from the files at once.
const readAhead = 1 << 20

// ReaderConfig says where a log is to be read.
type ReaderConfig struct {
	FS           file.FS
	Dir          string
	UUID         [16]byte
	SegmentBytes int64 // 0 = DefaultSegmentBytes

	Ring    []byte   // of a life that died, or nil; not to be changed while read
	Durable page.LSN // the last OnDurable of that life: what starts there or later is read from Ring
}

func (c *ReaderConfig) layout() (*layout, error) {
	y := &layout{c.FS, c.Dir, c.UUID, c.SegmentBytes}
	if y.bytes == 0 {
		y.bytes = DefaultSegmentBytes
	}
	if c.Ring != nil && (len(c.Ring) < MinRing || len(c.Ring)%blockSize != 0 || c.Durable < FirstLSN || c.Durable%groupAlign != 0) {
		return nil, fmt.Errorf("log ring of %d bytes, durable up to %d: cannot be one of ours", len(c.Ring), c.Durable)
	}
	return y, y.check()
}

// Group is one group as it was appended.
type Group struct {
	Start, End  page.LSN
	Incarnation uint64
	Body        []byte
}

// Reader walks a log that nobody writes behind its end. Next is for one goroutine; ReadBackward for any.
type Reader struct {
	y       *layout
	ring    ring
	durable page.LSN

	at    page.LSN
	life  uint64 // of the last group; rule 6
	why   string
	buf   []byte // the bytes of the log from bufAt
	bufAt page.LSN

	pass pass

	mu    sync.Mutex // guards files
	files map[uint64]file.File
}

// NewReader reads from the group that starts at from, or would.
func NewReader(cfg ReaderConfig, from page.LSN) (*Reader, error) {
	y, err := cfg.layout()
	if err != nil {
		return nil, err
	}
	return y.reader(cfg.Ring, cfg.Durable, from), nil
}

func (y *layout) reader(r ring, durable, from page.LSN) *Reader {
	return &Reader{y: y, ring: r, durable: durable, at: max(from, FirstLSN), bufAt: from, files: map[uint64]file.File{}}
}

// Next is the next group; its body is valid until the next Next. io.EOF is the end of the valid prefix. Other errors
// mean that the disk did not answer.
func (r *Reader) Next() (Group, error) {
	g, err := r.next()
	if r.ring != nil && r.at >= r.durable && errors.Is(err, io.EOF) {
		// What the ring lacks, the segments may still have: both hold the same log, and rules 5 and 6 hold for both.
		r.ring, r.buf = nil, r.buf[:0]
		return r.next()
	}
	return g, err
}

func (r *Reader) next() (Group, error) {
	head, err := r.window(groupHeader)
	if err != nil {
		return Group{}, err
	}
	h, why := decodeHeader(head, r.at)
	if why == "" && h.life < r.life {
		why = fmt.Sprintf("incarnation falls from %d to %d", r.life, h.life)
	}
	if why != "" {
		return r.end(why)
	}
	group, err := r.window(int(h.size))
	if err != nil {
		return Group{}, err
	}
	body, why := h.bodyOf(group)
	if why != "" {
		return r.end(why)
	}
	g := Group{r.at, r.at + page.LSN(h.size), h.life, body}
	r.at, r.life = g.End, h.life
	return g, nil
}

func (r *Reader) end(why string) (Group, error) {
	r.why = why
	return Group{}, io.EOF
}

// End is where the valid prefix ends, once Next said io.EOF; before, where it will go on.
func (r *Reader) End() page.LSN { return r.at }

// Why says for the log of a start what was found at End instead of a group.
func (r *Reader) Why() string { return r.why }

// window is the n bytes at r.at, fewer at the end of the files.
func (r *Reader) window(n int) ([]byte, error) {
	skip := int(r.at - r.bufAt)
	if skip > len(r.buf) {
		skip = len(r.buf)
		r.bufAt = r.at - page.LSN(skip)
	}
	if len(r.buf)-skip < n {
		kept := copy(r.buf, r.buf[skip:])
		r.buf = slices.Grow(r.buf[:kept], max(n, readAhead)-kept)
		r.bufAt, skip = r.at, 0
		got, err := r.read(r.buf[kept:max(n, readAhead)], r.at+page.LSN(kept))
		r.buf = r.buf[:kept+got]
		if err != nil {
			return nil, err
		}
	}
	return r.buf[skip:min(skip+n, len(r.buf))], nil
}

// read fills b with the log from lsn; fewer bytes mean that the files, or the ring, end.
func (r *Reader) read(b []byte, lsn page.LSN) (int, error) {
	done := 0
	for done < len(b) {
		at := lsn + page.LSN(done)
		part := b[done:]
		if r.ring != nil && at >= r.durable {
			n := min(len(part), len(r.ring)-int(min(at-down(r.durable), page.LSN(len(r.ring)))))
			r.ring.get(part[:n], at)
			return done + n, nil
		}
		if r.ring != nil {
			part = part[:min(len(part), int(r.durable-at))]
		}
		n := r.y.segmentOf(at)
		part = part[:min(len(part), int(r.y.startOf(n+1)-at))]
		f, err := r.file(n)
		if absent(err) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		got, err := f.ReadAt(part, r.y.offsetOf(at))
		done += got
		if err != nil && !errors.Is(err, io.EOF) {
			return done, err
		}
		if got < len(part) {
			return done, nil
		}
	}
	return done, nil
}

func (r *Reader) file(n uint64) (file.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.files[n]; f != nil {
		return f, nil
	}
	// A reader knows what it wants next. What the system would read ahead, megabytes at a time, others who want the disk would wait for.
	f, err := r.y.open(n, file.ReadOnly|file.Exact)
	if err == nil {
		r.files[n] = f
	}
	return f, err
}

const (
	// shortGroup, in bytes, is longer than most groups: one read brings all of it.
	shortGroup = 1 << 10
	// window, in bytes, is read at a time where groups that are wanted lie close together.
	window = 32 << 10
	// windows is how many of them are read at a time, once the last one was not enough.
	windows = 8
	// direct is how many pieces of the log are read for one page while a Pass is under way. Readers who have pages with a few groups each go
	// on, with operations that the pass leaves over. A page that needs more, thousands sometimes, waits until the pass has come to
	// them: all small reads together would be the whole log once more, and slower.
	direct = 1 + 4*windows
)

// piece is a part of the log from at, of length n, that is read at once because of some of the wanted starts.
type piece struct {
	at   page.LSN
	n    int
	b    []byte // once read
	err  error
	read chan struct{} // closed then
}

// has says whether the group that starts at lsn is worth looking for in it.
func (p *piece) has(lsn page.LSN) bool { return lsn >= p.at && lsn+shortGroup <= p.at+page.LSN(p.n) }

// pieceBefore is the piece for the last of the starts.
func pieceBefore(starts []page.LSN) *piece {
	last := len(starts) - 1
	p := &piece{at: starts[last], n: shortGroup, read: make(chan struct{})}
	if last > 0 && starts[last]-starts[last-1] < window-shortGroup {
		p.at, p.n = max(starts[last]+shortGroup, starts[0]+window)-window, window
	}
	return p
}

// ReadBackward reads the groups that start at the given places, which ascend and which Next or an index has told, from the last to the
// first, into memory of their own, until one is not taken. Behind the last it reads some places ahead of the one that is taken: on
// a busy disk one read after the other would wait for each. While a Pass is under way it leaves most of the reading to that.
func (r *Reader) ReadBackward(starts []page.LSN, take func(Group) bool) error {
	var pieces []*piece // under way, the last of the log first
	ahead := starts     // those that no piece has
	most, begun := 1, 0
	enough := make(chan struct{})
	defer func() {
		close(enough)
		for _, p := range pieces {
			<-p.read
		}
	}()
	for i := len(starts) - 1; i >= 0; i-- {
		for len(ahead) > 0 && len(pieces) < most {
			p := pieceBefore(ahead)
			for len(ahead) > 0 && p.has(ahead[len(ahead)-1]) {
				ahead = ahead[:len(ahead)-1]
			}
			pieces = append(pieces, p)
			begun++
			patient := begun > direct
			read := func() {
				defer close(p.read)
				if patient && !r.pass.await(p.at, enough) {
					return // nor does anybody look at p
				}
				p.b = make([]byte, p.n)
				n, err := r.read(p.b, p.at)
				p.b, p.err = p.b[:n], err
			}
			if most == 1 {
				read()
			} else {
				go read()
			}
		}
		lsn := starts[i]
		p := pieces[0]
		<-p.read
		if p.err != nil {
			return p.err
		}
		g, err := r.groupAt(lsn, p.b[min(int(lsn-p.at), len(p.b)):])
		if err != nil || !take(g) {
			return err
		}
		if i > 0 && !p.has(starts[i-1]) {
			pieces, most = pieces[1:], windows
		}
	}
	return nil
}

// groupAt is the group that starts at lsn, of which b are the first bytes.
func (r *Reader) groupAt(lsn page.LSN, b []byte) (Group, error) {
	bad := func(why string) (Group, error) {
		return Group{}, &SegmentError{r.y.segmentPath(r.y.segmentOf(lsn)), fmt.Sprintf("group at LSN %d: %s", lsn, why)}
	}
	h, why := decodeHeader(b, lsn)
	if why != "" {
		return bad(why)
	}
	if n := len(b); int(h.size) > n {
		b = append(b[:n:n], make([]byte, int(h.size)-n)...)
		more, err := r.read(b[n:], lsn+page.LSN(n))
		if err != nil {
			return Group{}, err
		}
		b = b[:n+more]
	}
	body, why := h.bodyOf(b)
	if why != "" {
		return bad(why)
	}
	return Group{lsn, lsn + page.LSN(h.size), h.life, body}, nil
}

// Close closes the files.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for n, f := range r.files {
		errs = append(errs, f.Close())
		delete(r.files, n)
	}
	return errors.Join(errs...)
}

// Segments lists the segments there are, ascending, sealed or not.
func Segments(cfg ReaderConfig) ([]uint64, error) {
	y, err := cfg.layout()
	if err != nil {
		return nil, err
	}
	have, err := y.list()
	return have.segments, err
}

// SegmentOf is the segment in which the byte at lsn lies.
func (c ReaderConfig) StartOf(n uint64) page.LSN {
	y := layout{bytes: c.SegmentBytes}
	if y.bytes == 0 {
		y.bytes = DefaultSegmentBytes
	}
	return y.startOf(n)
}

// SegmentOf is the segment in which an LSN lies.
func (c ReaderConfig) SegmentOf(lsn page.LSN) uint64 {
	y := layout{bytes: c.SegmentBytes}
	if y.bytes == 0 {
		y.bytes = DefaultSegmentBytes
	}
	return y.segmentOf(lsn)
}
