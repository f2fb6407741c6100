package wal

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// died is a process that died with groups in its ring that no file has: disk, ring, and the last durable LSN told.
func died(t *testing.T, before, inRing int, size func(i int) int) (disk *file.Mem, ring []byte, durable page.LSN, want [][]byte) {
	t.Helper()
	live := file.NewMem(1)
	cfg := testConfig(live)
	cfg.Ring = file.AlignedBuf(4 * MinRing)
	l := mustOpen(t, cfg)
	for i := range before {
		want = append(want, bodyFor(i, size(i)))
		mustWait(t, l, mustAppend(t, l, want[i]))
	}
	durable = l.Durable()
	for i := range inRing {
		want = append(want, bodyFor(before+i, size(i)))
		mustAppend(t, l, want[before+i])
	}
	if l.Durable() != durable {
		t.Fatalf("the writer wrote unasked, up to %d", l.Durable())
	}
	disk, ring = live.Clone(file.KeepAll), file.AlignedBuf(len(cfg.Ring))
	copy(ring, cfg.Ring)
	mustClose(t, l)
	return disk, ring, durable, want
}

func TestFinishRing(t *testing.T) {
	for _, c := range []struct{ before, inRing, size int }{
		{0, 1, 10}, {0, 0, 10}, {1, 1, 100}, {5, 30, 1500}, {40, 12, 5000}, {200, 40, 1500}, {15, 15, blockSize - groupHeader - 10}, {14, 1, blockSize - groupHeader - 10},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			disk, ring, durable, want := died(t, c.before, c.inRing, func(int) int { return c.size })

			// The Reader reads ring and segments as one.
			both := readerConfig(disk)
			both.Ring, both.Durable = ring, durable
			groups, readEnd := readAll(t, both, FirstLSN)
			wantBodies(t, groups, want)

			// A crash at any moment of finishing leaves a start that can be repeated.
			disk.OnOp(func(op file.Op) error {
				if op.Kind.Changes() {
					clone := disk.Clone(file.KeepAll)
					end, _, err := FinishRing(readerConfig(clone), bytes.Clone(ring), durable)
					if err != nil || end != readEnd {
						t.Errorf("again after a crash before call %d: end %d, want %d, %v", op.N, end, readEnd, err)
					}
				}
				return nil
			})
			end, _, err := FinishRing(readerConfig(disk), ring, durable)
			if err != nil || end != readEnd {
				t.Fatalf("end %d, want %d, %v", end, readEnd, err)
			}
			disk.OnOp(nil)
			disk = disk.Clone(file.DropUnsynced)
			groups, _ = readAll(t, readerConfig(disk), FirstLSN)
			wantBodies(t, groups, want)

			// The next life goes on in the same ring.
			cfg := testConfig(disk)
			cfg.Ring, cfg.RingSurvived, cfg.Start, cfg.Incarnation = ring, true, end, 2
			var said strings.Builder
			cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
			l := mustOpen(t, cfg)
			if said.Len() > 0 {
				t.Error(said.String())
			}
			for i := range 5 {
				want = append(want, bodyFor(9000+i, 3000))
				mustAppend(t, l, want[len(want)-1])
			}
			mustClose(t, l)
			groups, _ = readAll(t, readerConfig(disk), FirstLSN)
			wantBodies(t, groups, want)
		})
	}
}

// The process died while a group was being copied: the prefix before it is the log.
func TestFinishTornRing(t *testing.T) {
	disk, ring, durable, want := died(t, 3, 10, func(int) int { return 1000 })
	cfg := readerConfig(disk)
	cfg.Ring, cfg.Durable = ring, durable
	groups, _ := readAll(t, cfg, FirstLSN)
	torn := groups[9]
	ring[torn.Start+500] ^= 1
	end, _, err := FinishRing(readerConfig(disk), ring, durable)
	if err != nil || end != torn.Start {
		t.Fatalf("end %d, want %d, %v", end, torn.Start, err)
	}
	groups, _ = readAll(t, readerConfig(disk), FirstLSN)
	wantBodies(t, groups, want[:9])
}

// A ring holds whole groups of an earlier life at the very place where a later one without it stopped.
func TestRingOfEarlierLife(t *testing.T) {
	for _, appended := range []int{0, 1} {
		disk, ring, durable, _ := died(t, 3, 10, func(int) int { return 1000 })
		cfg := testConfig(disk)
		cfg.Ring, cfg.Start, cfg.Incarnation = ring, durable, 5
		l := mustOpen(t, cfg)
		for range appended {
			mustWait(t, l, mustAppend(t, l, bodyFor(3, 1000)))
		}
		told, left := l.Durable(), file.AlignedBuf(len(ring))
		copy(left, ring)
		mustClose(t, l)
		if end, n, err := FinishRing(readerConfig(disk), left, told); end != told || n != 0 || err != nil {
			t.Fatalf("%d groups: end %d, want %d; %d bytes, %v", appended, end, told, n, err)
		}
	}
}

// Behind a start at which a reader stopped lies a whole older group on disk: once open, it is gone for readers who start there.
func TestOpenEndsTheLog(t *testing.T) {
	disk := file.NewMem(1)
	cfg := testConfig(disk)
	l := mustOpen(t, cfg)
	end := mustAppend(t, l, bodyFor(1, 100))
	mustAppend(t, l, bodyFor(2, 100))
	mustClose(t, l)
	cfg.Start, cfg.Incarnation, cfg.Ring = end, 2, file.AlignedBuf(MinRing)
	l = mustOpen(t, cfg)
	if g, at := readAll(t, readerConfig(disk.Clone(file.DropUnsynced)), end); len(g) != 0 || at != end {
		t.Fatalf("%d groups behind the start", len(g))
	}
	mustClose(t, l)
}
