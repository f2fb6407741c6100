package wal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

const (
	// DefaultFlushInterval is how long a group nobody waits for may stay in memory only.
	DefaultFlushInterval = time.Second

	// MinRing, in bytes, is the smallest ring: a quarter of it must hold a group of a page or two.
	// Rings that are to take MaxGroup have at least 4 * MaxGroup.
	MinRing = 64 << 10

	// ringGuard, in bytes, behind the tail belongs to rule 5.
	ringGuard = 8
)

// ErrDead is what everyone gets after the log failed or was closed, with the reason.
var ErrDead = errors.New("the log is dead")

var errClosed = errors.New("closed")

// Config says where a log is and who wants to hear of it.
type Config struct {
	FS           file.FS
	Dir          string
	UUID         [16]byte
	SegmentBytes int64 // 0 = DefaultSegmentBytes; never changes in the life of a database

	Ring         []byte   // a multiple of 4096, aligned so, from MinRing
	RingSurvived bool     // the ring is that of the life before, already given to FinishRing; where it differs from the files, they are right
	Incarnation  uint64   // greater than that of every life before
	Start        page.LSN // end of the valid log, FirstLSN for a new one

	OnDurable     func(page.LSN) // called in order, by one goroutine at a time; rule 4
	OnFatal       func(error)    // called once at most
	FlushInterval time.Duration  // 0 = DefaultFlushInterval
	Logger        *slog.Logger
}

// Log takes groups and makes them durable.
type Log struct {
	cfg     Config
	ring    ring
	maxBody int
	quarter page.LSN // of the ring: with so much not durable the writer begins by itself

	tail atomic.Uint64
	_    [56]byte // the tail is read by everyone; what follows is written by appenders

	mu      sync.Mutex // guards what follows up to room
	pos     int        // of tail in the ring
	limit   page.LSN   // no group may end above it; at or below what freed allows
	kickAt  page.LSN   // tail at which to look whether the writer should begin
	groups  uint64
	stalled uint64 // how often an appender found the ring full
	dead    error
	room    sync.Cond // signalled when freed moves and crowd is not 0

	crowd   atomic.Int32  // appenders that wait for room
	freed   atomic.Uint64 // rule 3
	written gate
	durable gate

	asleep   atomic.Bool // the writer is parked or about to be
	wake     chan struct{}
	stopping atomic.Bool
	done     chan struct{} // closed when the writer is gone

	w     writer
	segs  segments
	index indexer
	stats counters
}

// Open makes a log ready to take groups behind cfg.Start.
func Open(cfg Config) (*Log, error) {
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = DefaultSegmentBytes
	}
	if cfg.FlushInterval == 0 {
		cfg.FlushInterval = DefaultFlushInterval
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.OnDurable == nil {
		cfg.OnDurable = func(page.LSN) {}
	}
	if cfg.OnFatal == nil {
		cfg.OnFatal = func(error) {}
	}
	if n := len(cfg.Ring); n < MinRing || n%blockSize != 0 {
		return nil, fmt.Errorf("log ring of %d bytes: must be a multiple of %d, from %d", n, blockSize, MinRing)
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(cfg.Ring)))%blockSize != 0 {
		panic("BUG: log ring in memory that is not aligned to a block")
	}
	if cfg.Start < FirstLSN || cfg.Start%groupAlign != 0 {
		return nil, fmt.Errorf("log end %d: must be a multiple of %d, from %d", cfg.Start, groupAlign, FirstLSN)
	}
	y := &layout{cfg.FS, cfg.Dir, cfg.UUID, cfg.SegmentBytes}
	if err := y.check(); err != nil {
		return nil, err
	}
	l := &Log{
		cfg:     cfg,
		ring:    cfg.Ring,
		maxBody: min(MaxGroup, len(cfg.Ring)/4) - groupHeader,
		quarter: page.LSN(len(cfg.Ring) / 4),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	l.room.L = &l.mu
	l.written.init(cfg.Start)
	l.durable.init(cfg.Start)
	if err := l.begin(y); err != nil {
		return nil, fmt.Errorf("open log in %s: %w", cfg.Dir, err)
	}
	go l.run()
	go l.segs.run()
	go l.index.run()
	return l, nil
}

// begin readies files and ring; rules 4, 5 and 7.
func (l *Log) begin(y *layout) error {
	start := l.cfg.Start
	if err := y.fs.MkdirAll(y.dir, dirPerm); err != nil {
		return err
	}
	if err := y.fs.SyncDir(filepath.Dir(y.dir)); err != nil {
		return err
	}
	have, err := y.list()
	if err != nil {
		return err
	}
	if err := l.segs.init(y, have, start, l.cfg.Logger, &l.stats); err != nil {
		return err
	}
	n := y.segmentOf(start)
	f, err := y.open(n, file.ReadWrite|file.Direct)
	var cur *segment
	switch {
	case err == nil:
		cur = y.asSegment(n, f)
	case errors.Is(err, fs.ErrNotExist) && (start == FirstLSN || start == y.startOf(n)):
		if cur, err = y.makeSegment(n, l.segs.spare(), noHurry); err != nil {
			return err
		}
	default:
		return err
	}
	l.w.init(newDrain(y, l.ring), cur, start)
	if l.cfg.RingSurvived {
		if same, err := l.w.agrees(cur.f, start); err == nil && !same {
			l.cfg.Logger.Warn("the log ring that survived is not what the log segment holds; going on with the segment", "segment", cur.f.Name(), "lsn", start)
		}
	}
	if err := l.w.settle(start, page.LSN(len(l.ring))); err != nil {
		cur.f.Close()
		return err
	}
	clear(l.ring[l.ring.at(start):][:ringGuard])
	l.segs.use(n)
	l.index.init(y, &l.segs, have, start, l.cfg.Logger)

	l.tail.Store(uint64(start))
	l.pos = l.ring.at(start)
	l.freed.Store(uint64(down(start)))
	l.limit = l.roomLimit()
	l.kickAt = start + l.quarter
	l.cfg.OnDurable(start)
	return nil
}

// roomLimit is how far freed lets the tail go.
func (l *Log) roomLimit() page.LSN {
	return page.LSN(l.freed.Load()) + page.LSN(len(l.ring)) - ringGuard
}

// MaxBody is the longest body Append takes: MaxGroup or a quarter of the ring, less the header.
func (l *Log) MaxBody() int { return l.maxBody }

// Tail is the end of the last group appended.
func (l *Log) Tail() page.LSN { return page.LSN(l.tail.Load()) }

// Durable is the end of the last group the disk has promised to keep.
func (l *Log) Durable() page.LSN { return l.durable.at() }

// Written is the end of the last group given to the operating system.
func (l *Log) Written() page.LSN { return l.written.at() }

// Append puts a group into the log and says where it starts and ends. It waits while the ring is full, for nothing else,
// and fails with ErrDead only. The body is the caller's again when it returns.
func (l *Log) Append(body []byte) (start, end page.LSN, err error) {
	if len(body) > l.maxBody {
		panic(fmt.Sprintf("BUG: log group with a body of %d bytes, want at most %d", len(body), l.maxBody))
	}
	size := groupSize(len(body))
	h := header{
		size:  uint32(size),
		body:  crc32.Checksum(body, castagnoli),
		life:  l.cfg.Incarnation,
		flags: uint32(size - groupHeader - len(body)),
	}
	l.mu.Lock()
	start = page.LSN(l.tail.Load())
	end = start + page.LSN(size)
	if end > l.limit || l.dead != nil {
		if err := l.waitRoom(size); err != nil {
			l.mu.Unlock()
			return 0, 0, err
		}
		start = page.LSN(l.tail.Load())
		end = start + page.LSN(size)
	}
	h.lsn = start
	l.copyIn(&h, body)
	l.groups++
	l.tail.Store(uint64(end))
	press := end >= l.kickAt && l.pressed(end)
	l.mu.Unlock()
	if press {
		l.kick()
	}
	return start, end, nil
}

// copyIn writes the group and the guard behind it into the ring.
func (l *Log) copyIn(h *header, body []byte) {
	var guard [groupAlign + ringGuard]byte
	if n := int(h.size); l.pos+n+ringGuard <= len(l.ring) {
		at := l.ring[l.pos : l.pos+n+ringGuard]
		h.encode((*[groupHeader]byte)(at))
		copy(at[groupHeader:], body)
		clear(at[groupHeader+len(body):])
		l.pos += n
		return
	}
	var b [groupHeader]byte
	h.encode(&b)
	pos := l.ring.put(l.pos, b[:])
	pos = l.ring.put(pos, body)
	l.pos = l.ring.put(pos, guard[:h.flags])
	binary.LittleEndian.PutUint64(l.ring[l.pos:], 0)
}

// waitRoom waits, mu held, until a group of size bytes has room.
func (l *Log) waitRoom(size int) error {
	waited := false
	for {
		if l.dead != nil {
			return l.dead
		}
		l.crowd.Add(1)
		l.limit = l.roomLimit()
		tail := page.LSN(l.tail.Load())
		if tail+page.LSN(size) <= l.limit {
			l.crowd.Add(-1)
			return nil
		}
		if !waited {
			waited = true
			l.stalled++
		}
		l.durable.ask(tail)
		l.kick()
		l.room.Wait()
		l.crowd.Add(-1)
	}
}

// pressed says, mu held, whether so much waits in the ring that the writer should begin unasked, and when to look again.
func (l *Log) pressed(tail page.LSN) bool {
	durable := l.durable.at()
	if tail-durable < l.quarter {
		l.kickAt = durable + l.quarter
		return false
	}
	l.kickAt = tail + l.quarter/4
	return true
}

// WaitDurable returns when everything below lsn is durable. lsn is at most the tail.
func (l *Log) WaitDurable(ctx context.Context, lsn page.LSN) error {
	return l.waitGate(ctx, &l.durable, lsn)
}

// WaitWritten returns when everything below lsn would survive the process, but perhaps not the machine.
func (l *Log) WaitWritten(ctx context.Context, lsn page.LSN) error {
	return l.waitGate(ctx, &l.written, lsn)
}

func (l *Log) waitGate(ctx context.Context, g *gate, lsn page.LSN) error {
	if g.at() >= lsn {
		return nil
	}
	if tail := l.Tail(); lsn > tail {
		panic(fmt.Sprintf("BUG: wait for log position %d, the tail is %d", lsn, tail))
	}
	l.stats.waits.Add(1)
	return g.wait(ctx, lsn, l.kick)
}

// Kick makes the writer begin with everything below the tail, without waiting for it.
func (l *Log) Kick() {
	l.durable.ask(l.Tail())
	l.kick()
}

// SetKeep says that nothing below lsn will be asked for again: segments wholly below become new ones.
func (l *Log) SetKeep(lsn page.LSN) { l.segs.setKeep(lsn) }

// LoadIndex is the index of sealed segment n, from its file or built again.
func (l *Log) LoadIndex(n uint64) (*Index, error) {
	if !l.segs.pin(n) {
		return nil, fmt.Errorf("index of log segment %d: the segment is not kept", n)
	}
	defer l.segs.unpin(n)
	return l.index.y.loadIndex(n)
}

// Close makes everything durable and stops. The log is dead afterwards.
func (l *Log) Close() error {
	l.bury(fmt.Errorf("%w: %w", ErrDead, errClosed))
	l.stopping.Store(true)
	l.kick()
	<-l.done
	l.segs.close()
	l.index.close()
	err := l.w.close()
	if l.w.failed != nil {
		return l.w.failed
	}
	return err
}

// bury refuses appenders from now on.
func (l *Log) bury(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead == nil {
		l.dead = err
	}
	l.room.Broadcast()
}
