package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// FinishRing writes what a ring that outlived its process holds behind durable to the segments, and syncs them. It returns
// where the log ends then and how many bytes were written. A crash during it changes nothing: the next start does it again.
// Besides the bytes of the ring that come before durable in its block, the ring is not changed.
func FinishRing(cfg ReaderConfig, survived []byte, durable page.LSN) (end page.LSN, written int64, err error) {
	cfg.Ring, cfg.Durable = survived, durable
	y, err := cfg.layout()
	if err != nil {
		return 0, 0, err
	}
	if end, err = y.ringEnd(survived, durable); err != nil {
		return 0, 0, err
	}
	if end == durable {
		return end, 0, nil
	}
	d := newDrain(y, survived)
	n := y.segmentOf(durable)
	s, err := d.forFinish(n, durable)
	if err != nil {
		return 0, 0, fmt.Errorf("write the rest of the log ring: %w", err)
	}
	if err = d.fill(s.f, durable); err == nil {
		written, err = d.finish(s, down(durable), end)
	} else {
		s.f.Close()
	}
	if err != nil {
		return 0, written, fmt.Errorf("write the rest of the log ring: %w", err)
	}
	return end, written, nil
}

// ringEnd is where the valid prefix of a ring ends.
func (y *layout) ringEnd(survived []byte, durable page.LSN) (page.LSN, error) {
	r := y.reader(survived, durable, durable)
	for {
		if _, err := r.next(); errors.Is(err, io.EOF) {
			return r.End(), nil
		} else if err != nil {
			return 0, err
		}
	}
}

// forFinish opens segment n, or makes it when the log goes on at its beginning.
func (d *drain) forFinish(n uint64, at page.LSN) (*segment, error) {
	f, err := d.open(n, file.ReadWrite|file.Direct)
	switch {
	case err == nil:
		return d.asSegment(n, f), nil
	case absent(err) && at == d.startOf(n), errors.Is(err, fs.ErrNotExist) && at == FirstLSN:
		return d.makeSegment(n, "", noHurry)
	}
	return nil, err
}

// finish writes [pos, end) from segment s on, syncs and closes what it touched.
func (d *drain) finish(s *segment, pos, end page.LSN) (written int64, err error) {
	for {
		to := min(end, s.to, pos+maxWrite)
		n, err := d.write(s, pos, to, to == end)
		written += int64(n)
		if err != nil {
			s.f.Close()
			return written, err
		}
		if pos = to; pos < s.to && pos < end {
			continue
		}
		if err := errors.Join(s.f.Sync(), s.f.Close()); err != nil || pos == end {
			return written, err
		}
		if s, err = d.forFinish(s.n+1, pos); err != nil {
			return written, err
		}
	}
}
