package slowlogd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Times of the follower.
const (
	DefaultLook  = time.Second            // how often the files are looked at without being told to
	DefaultGrace = 250 * time.Millisecond // rule 2
	gather       = 5 * time.Millisecond   // what is written within it is read together; when nothing was, what looks ended is ended
	gatherMuch   = 17 * time.Millisecond  // the same where much comes: the last entry of a piece waits for the next one, few do
	gatherAlone  = 100 * time.Millisecond // the same where there is no client that could wait
)

// much is how many entries are so many in a piece that at most one in a hundred waits for the next one.
const much = 100

// tailBytes before the reading position are compared to notice a truncation (rule 5).
const tailBytes = 64

// follower reads the log as it is written (rule 1).
type follower struct {
	path        string
	look, grace time.Duration
	log         *slog.Logger

	mu          sync.Mutex
	changed     chan struct{} // closed when anything below has changed
	cur         *segment      // nil: there has been no file yet
	waiting     string        // why nothing is read; empty: all is well, and clients can be served
	looked      time.Time
	rotations   int64
	truncations int64
	entries     int64
	bytes       int64
	clients     int

	alarm   *alarm                // of the follower while it gathers; a client that comes sets it off
	arrived chan struct{}         // has one in it when a client came
	events  <-chan fsnotify.Event // what happened to the file; nil: nobody tells. Of the follower alone, like what is below
	known   []print               // files that were followed, lately
	birth   time.Time             // files that were there before are no news
}

// knownFiles is how many files are remembered that were followed.
const knownFiles = 2048

func newFollower(path string, look, grace time.Duration, log *slog.Logger) (*follower, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	return &follower{path: path, look: look, grace: grace, log: log, waiting: "the file is being opened",
		changed: make(chan struct{}), alarm: a, arrived: make(chan struct{}, 1)}, nil
}

// notify tells everybody that something changed. The caller holds mu.
func (f *follower) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// current is the file that is followed now and a channel that is closed when something changes.
func (f *follower) current() (*segment, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cur, f.changed
}

// enter and leave count the clients. What came while there was none is read for the first one at once.
func (f *follower) enter() {
	f.mu.Lock()
	f.clients++
	f.mu.Unlock()
	select {
	case f.arrived <- struct{}{}:
	default:
	}
	f.alarm.set(0) // after the line above: who gathers looks for that when he has set it (it fails when the follower has ended)
}

func (f *follower) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients--; f.clients < 0 {
		panic("BUG: slowlogd: a client left once too often")
	}
}

// alone says that there is no client.
func (f *follower) alone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clients == 0
}

// setWaiting notes why nothing is read, or that all is well.
func (f *follower) setWaiting(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = time.Now()
	if f.waiting == why {
		return
	}
	switch {
	case why != "":
		f.log.Warn("waiting", "file", f.path, "why", why)
	default:
		f.log.Info("reading", "file", f.path)
	}
	f.waiting = why
	f.notify()
}

// run follows the log until ctx ends.
func (f *follower) run(ctx context.Context) error {
	defer f.alarm.close()
	defer context.AfterFunc(ctx, f.alarm.close)()
	events, err := fsnotify.NewWatcher()
	if err != nil {
		f.log.Warn("no notification of changes; files are looked at instead", "every", f.look, "error", err)
	} else {
		defer events.Close()
		f.events = events.Events
		go func() { // an overflow says no more than the event before it
			for range events.Errors {
			}
		}()
	}
	seg, err := f.first(ctx)
	for err == nil {
		if name, _, err := activeFile(f.path); err == nil && events != nil {
			events.Add(name) // a failure costs promptness only
		}
		var next *os.File
		if next, err = f.follow(ctx, seg); err != nil {
			break
		}
		seg = f.advance(seg, next)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause waits until something happened to the file, but no longer than d. It says whether something did. While nobody waits, the
// kernel keeps one event of each kind, so that a server that writes without a pause costs nothing here.
func (f *follower) pause(ctx context.Context, d time.Duration) (woken bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-f.events:
		return true, nil
	case <-t.C:
		return false, nil
	}
}

// openActive waits until there is a file that can be read.
func (f *follower) openActive(ctx context.Context) (*os.File, error) {
	for {
		name, info, err := activeFile(f.path)
		var file *os.File
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no ordinary file", name)
		}
		if err == nil {
			file, err = os.Open(name)
		}
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, fs.ErrNotExist):
			f.setWaiting("there is no such file; is slow_query_log on, and is this slow_query_log_file?")
		case errors.Is(err, fs.ErrPermission):
			f.setWaiting(err.Error() + "; the daemon goes on when it may read the file again")
		default:
			f.setWaiting(err.Error())
		}
		if _, err := f.pause(ctx, min(f.look, 20*minLook)); err != nil {
			return nil, err
		}
	}
}

// first opens the log where it ends now.
func (f *follower) first(ctx context.Context) (*segment, error) {
	file, err := f.openActive(ctx)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f.birth = time.Now()
	seg := &segment{inode: inodeOf(info), file: file, users: 1}
	if seg.head, err = headOf(file); err != nil {
		return nil, err
	}
	at, st, err := stateAt(file, info.Size())
	if err != nil {
		return nil, err
	}
	seg.marks, seg.at = []mark{{at, 0}}, st
	if !hasEntry(seg.head) {
		seg.before = f.endBefore(seg.inode)
	}
	f.install(seg)
	f.setWaiting("")
	return seg, nil
}

// endBefore is the token of the end of the last file that has an entry, of those before the one with the inode; empty: there is
// none, or it cannot be told.
func (f *follower) endBefore(inode uint64) string {
	all, err := siblings(f.path)
	if err != nil {
		return ""
	}
	token := ""
	for _, s := range all {
		if inodeOf(s.info) == inode {
			return token
		}
		if head, err := headOfSibling(s); err != nil || s.packed != "" {
			token = ""
		} else if hasEntry(head) {
			token = tokenOf(print{len(head), sum(head), inodeOf(s.info)}, s.info.Size())
		}
	}
	return "" // renamed meanwhile
}

func (f *follower) install(seg *segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cur, f.looked = seg, time.Now()
	f.notify()
}

// lookBack is how much of a file is read to learn what a reader would know at its end; it grows until the schema is known.
const lookBack = 4 << 20

// stateAt finds the last boundary between entries at or before an offset, and what is known there.
func stateAt(file io.ReaderAt, offset int64) (boundary int64, st state, err error) {
	for back := int64(lookBack); ; back *= 4 {
		from, line := max(offset-back, 0), int64(0)
		if from > 0 { // begin with a whole line
			buf := make([]byte, markSpacing)
			n, err := file.ReadAt(buf, from)
			if err != nil && err != io.EOF {
				return 0, state{}, err
			}
			line = int64(bytes.IndexByte(buf[:n], '\n') + 1)
		}
		boundary, st, err = stateOf(io.NewSectionReader(file, from+line, offset-from-line), from+line)
		if err != nil {
			return 0, state{}, err
		}
		if from == 0 || st.known && boundary > from {
			return min(boundary, offset), st, nil
		}
	}
}

// stateOf reads a stream to its end, and finds the last boundary in it and what is known there.
func stateOf(src io.Reader, from int64) (boundary int64, st state, err error) {
	r := slowlog.NewReader(src, slowlog.Options{Offset: from, MaxText: markSpacing, Frames: true})
	boundary = from
	var e slowlog.Entry
	for {
		switch err := r.Next(&e); {
		case err == io.EOF:
			name, known := r.Schema()
			return max(boundary, r.Offset()), state{string(name), known, string(r.Time())}, nil
		case err != nil:
			return 0, state{}, err
		case e.Kind == slowlog.Partial:
			return e.Offset, st, nil
		}
		boundary = e.End
		name, known := r.Schema()
		st = state{string(name), known, string(r.Time())}
	}
}

// follow reads a file to its end, and returns the one that comes next.
func (f *follower) follow(ctx context.Context, seg *segment) (next *os.File, err error) {
	start, st := seg.limit(), seg.at
	src := &source{f: f, ctx: ctx, seg: seg, pos: start.offset}
	if err := src.remember(); err != nil {
		return nil, err
	}
	r := slowlog.NewReader(src, slowlog.Options{Offset: start.offset, Schema: st.schema, SchemaKnown: st.known, Time: st.time,
		MaxText: markSpacing, Frames: true})
	var e slowlog.Entry
	at, marked, published := start, start, start
	setMark := func() {
		if at.offset == marked.offset {
			return
		}
		name, known := r.Schema()
		seg.publish(at, state{string(name), known, string(r.Time())})
		marked = at
	}
	publish := func() { // once in a piece: to wake clients is most of what a piece costs
		setMark()
		if at.offset == published.offset {
			return
		}
		f.mu.Lock()
		f.bytes += at.offset - published.offset
		f.entries += at.entries - published.entries
		f.notify()
		f.mu.Unlock()
		published = at
	}
	src.drained = func() int64 {
		publish()
		return at.entries
	}
	torn := false
	for {
		switch err := r.Next(&e); {
		case err == nil:
			at = mark{e.End, at.entries + 1}
			if torn = e.Kind == slowlog.Partial; at.offset-marked.offset >= markSpacing {
				setMark()
			}
		case errors.Is(err, slowlog.ErrQuiet):
			at.offset = max(at.offset, r.Offset()) // a banner without an entry behind it
			publish()
			seg.print() // grows while it is short
		case err == io.EOF:
			at.offset = max(at.offset, src.pos)
			publish()
			seg.print() // grows while it is short
			seg.mu.Lock()
			seg.torn, seg.note = torn, src.note
			seg.mu.Unlock()
			return src.next, nil
		default:
			return nil, err
		}
	}
}

// advance makes the next segment and ends the one before.
func (f *follower) advance(old *segment, file *os.File) *segment {
	info, err := file.Stat()
	inode := uint64(0)
	if err == nil {
		inode = inodeOf(info)
	}
	f.known = append(f.known, old.print())
	if len(f.known) > knownFiles {
		f.known = f.known[len(f.known)-knownFiles:]
	}
	limit := old.limit()
	seg := &segment{inode: inode, file: file, users: 2, before: old.token(limit), base: old.base + limit.offset, at: old.at, marks: []mark{{0, 0}}}
	seg.head, _ = headOf(file)
	old.mu.Lock()
	old.final, old.next = true, seg
	old.mu.Unlock()
	f.install(seg)
	old.release()
	return seg
}

// source is a segment as a stream that ends when the file is over.
type source struct {
	f    *follower
	ctx  context.Context
	seg  *segment
	pos  int64
	tail []byte // the last bytes before pos

	drained  func() int64 // is called when all that was read is understood; it tells how many entries that is
	read     time.Time    // when the last bytes came
	short    bool         // they were all there was
	gathered time.Time    // when the bytes came behind which was gathered last
	entries  int64        // that were understood then
	told     bool         // ErrQuiet was returned since the last byte
	waited   bool         // time passed since the last byte: the file may have been truncated
	newSince time.Time    // a newer file has something in it
	next     *os.File     // the newer file: what is in this one now is all
	ended    bool         // that was read
	note     string       // for clients, at the end
}

// remember reads the bytes before the start.
func (s *source) remember() error {
	n := min(s.pos, tailBytes)
	s.tail = make([]byte, n, 2*tailBytes)
	if _, err := s.seg.readAt(s.tail, s.pos-n); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// Read returns what the file has, ErrQuiet when nothing came for a while, and EOF when nothing will. Behind bytes that were the
// last ones it gathers before it looks again, so that what it costs to look grows with time and not with what is written.
func (s *source) Read(p []byte) (int, error) {
	entries := s.drained()
	if s.short && !s.ended {
		if err := s.gather(entries); err != nil {
			return 0, err
		}
	}
	for {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		size := s.seg.size()
		if s.waited && !s.ended && s.truncated(size) {
			s.truncation()
			continue
		}
		// What has come since is left to the next time, so that one call reads all there is.
		n, err := s.seg.readAt(p[:min(int64(len(p)), max(size-s.pos, 1))], s.pos)
		if n > 0 {
			s.took(p[:n])
			s.short = s.pos >= size
			return n, nil
		}
		if err != nil && err != io.EOF && !errors.Is(err, os.ErrClosed) {
			s.f.setWaiting(err.Error())
		}
		if s.ended {
			return 0, io.EOF
		}
		if !s.waited && s.truncated(s.seg.size()) {
			s.truncation()
			continue
		}
		s.waited = false
		if s.newer() {
			continue
		}
		if !s.told && time.Since(s.read) >= gather {
			s.told = true
			return 0, slowlog.ErrQuiet
		}
		d := s.f.look
		if !s.told {
			d = gather
		} else if !s.newSince.IsZero() || s.f.waitingFor() {
			d = min(d, max(s.f.grace/4, minLook))
		}
		if _, err := s.f.pause(s.ctx, d); err != nil {
			return 0, err
		}
		s.waited = true
	}
}

// gather lets a while pass since the last bytes came, which ended so many entries.
func (s *source) gather(entries int64) error {
	d := gather
	switch {
	case s.f.alone():
		d = gatherAlone
	case time.Duration(entries-s.entries)*(gatherMuch/much) >= s.read.Sub(s.gathered): // so many will come meanwhile
		d = gatherMuch
	}
	s.short, s.waited = false, true
	s.gathered, s.entries = s.read, entries
	err := s.f.alarm.set(time.Until(s.read.Add(d)))
	select {
	case <-s.f.arrived:
		return nil
	default:
	}
	if err == nil {
		err = s.f.alarm.wait()
	}
	if s.ctx.Err() != nil { // it closes the alarm
		return s.ctx.Err()
	}
	return err
}

func (f *follower) waitingFor() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting != ""
}

// took notes what was read.
func (s *source) took(p []byte) {
	s.pos += int64(len(p))
	s.read = time.Now()
	s.told, s.waited = false, false
	if len(p) >= tailBytes {
		s.tail = append(s.tail[:0], p[len(p)-tailBytes:]...)
		return
	}
	s.tail = append(s.tail, p...)
	if extra := len(s.tail) - tailBytes; extra > 0 {
		s.tail = s.tail[:copy(s.tail, s.tail[extra:])]
	}
}

// truncated says whether what was read is no longer there (rule 5), in a file of this size.
func (s *source) truncated(size int64) bool {
	if s.pos == 0 {
		var head [headBytes]byte
		n, _ := s.seg.readAt(head[:], 0)
		s.seg.mu.Lock()
		defer s.seg.mu.Unlock()
		return !bytes.HasPrefix(head[:n], s.seg.head)
	}
	if size < s.pos {
		return true
	}
	var now [tailBytes]byte
	n, err := s.seg.readAt(now[:len(s.tail)], s.pos-int64(len(s.tail)))
	return n < len(s.tail) && (err == nil || err == io.EOF) || n == len(s.tail) && !bytes.Equal(now[:n], s.tail)
}

// truncation ends the segment where it was read to, or where its copy ends. The same file begins again as another segment.
func (s *source) truncation() {
	s.ended = true
	s.f.mu.Lock()
	s.f.truncations++
	s.f.mu.Unlock()
	p := s.seg.print()
	copied := s.findCopy()
	s.next = s.seg.replace(copied)
	token := fmt.Sprintf("%v:%d", p, s.pos)
	if copied == nil {
		s.note = fmt.Sprintf("truncated at %s, there is no copy: what was written between the last look and the truncation is lost", token)
	} else {
		s.note = fmt.Sprintf("truncated at %s, read on in the copy: what was written between the copy and the truncation is lost", token)
	}
	s.f.log.Warn("the log was truncated; rotate by rename and FLUSH SLOW LOGS to lose nothing", "file", s.f.path, "at", s.pos, "copy", copied != nil)
}

// findCopy looks for the file that copytruncate made of this one.
func (s *source) findCopy() *os.File {
	all, err := siblings(s.f.path)
	if err != nil {
		return nil
	}
	p := s.seg.print()
	if p.length == 0 {
		return nil
	}
	s.seg.mu.Lock()
	bannerOnly := !hasEntry(s.seg.head)
	s.seg.mu.Unlock()
	for _, c := range all {
		if c.packed != "" || inodeOf(c.info) == s.seg.inode {
			continue
		}
		if bannerOnly && (c.info.ModTime().Before(s.f.birth) || s.f.followed(c)) { // all files begin like this one
			continue
		}
		file, err := os.Open(c.path)
		if err != nil {
			continue
		}
		if head, err := headOf(file); err == nil && p.matches(head) && s.continues(file) {
			return file
		}
		file.Close()
	}
	return nil
}

// continues says whether a file has at the reading position what was read, or is shorter.
func (s *source) continues(file *os.File) bool {
	var now [tailBytes]byte
	n, err := file.ReadAt(now[:len(s.tail)], s.pos-int64(len(s.tail)))
	return n == len(s.tail) && bytes.Equal(now[:n], s.tail) || n < len(s.tail) && err == io.EOF
}

// newer says whether the file is over because there is a newer one (rule 2): then what it has now is read once more, to the end.
func (s *source) newer() bool {
	name, info, err := activeFile(s.f.path)
	if err != nil {
		s.newSince = time.Time{}
		if errors.Is(err, fs.ErrNotExist) {
			s.f.setWaiting("the file is gone, and its successor not yet there")
		} else {
			s.f.setWaiting(err.Error())
		}
		return false
	}
	if !info.Mode().IsRegular() { // to open a FIFO would be to wait for who writes it
		s.newSince = time.Time{}
		s.f.setWaiting(name + " is no ordinary file; what is open is read on")
		return false
	}
	if inodeOf(info) == s.seg.inode && s.same(info) {
		s.newSince = time.Time{}
		s.f.setWaiting(readable(name))
		return false
	}
	s.f.setWaiting("")
	if s.next != nil { // seen before, and nothing came since
		s.ended = true
		return true
	}
	newer, err := s.successors()
	if err != nil || len(newer) == 0 {
		return false
	}
	if len(newer) == 1 {
		if newer[0].info.Size() == 0 {
			return false
		}
		if s.newSince.IsZero() {
			s.newSince = time.Now()
		}
		if time.Since(s.newSince) < s.f.grace {
			return false
		}
	}
	file, err := os.Open(newer[0].path)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			s.f.setWaiting(err.Error() + "; the daemon goes on when it may read the file")
		}
		return false
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(info, newer[0].info) { // renamed again meanwhile
		file.Close()
		return false
	}
	s.next = file
	s.f.mu.Lock()
	s.f.rotations++
	s.f.mu.Unlock()
	return true
}

// readable says what is wrong with a file that is open but could not be opened again.
func readable(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return err.Error() + "; what is open is read on"
	}
	f.Close()
	return ""
}

func (s *source) same(info fs.FileInfo) bool {
	s.seg.mu.Lock()
	defer s.seg.mu.Unlock()
	if s.seg.file == nil {
		return false
	}
	mine, err := s.seg.file.Stat()
	return err == nil && os.SameFile(mine, info)
}

// successors are the files newer than this one, the oldest first.
func (s *source) successors() ([]sibling, error) {
	all, err := siblings(s.f.path)
	if err != nil {
		return nil, err
	}
	for i, c := range all {
		if s.same(c.info) {
			return plain(all[i+1:]), nil
		}
	}
	// It was deleted, or compressed. What is newer is what was not followed, and not there when we began.
	var newer []sibling
	for _, c := range plain(all) {
		if c.active || c.info.ModTime().After(s.f.birth) && !s.f.followed(c) {
			newer = append(newer, c)
		}
	}
	if len(newer) > 0 {
		s.f.log.Warn("the file was removed as soon as it was rotated; there may have been others between", "file", filepath.Base(s.f.path), "next", newer[0].path)
	}
	return newer, nil
}

// followed says whether a file is one that was read, or a copy of one.
func (f *follower) followed(c sibling) bool {
	head, err := headOfSibling(c)
	if err != nil {
		return true
	}
	for _, p := range f.known {
		if p.isAll(head) {
			return true
		}
	}
	cur, _ := f.current()
	return cur.print().isAll(head)
}

func plain(all []sibling) []sibling {
	var p []sibling
	for _, s := range all {
		if s.packed == "" {
			p = append(p, s)
		}
	}
	return p
}
