package region

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/page"
)

const (
	// madvCollapse is MADV_COLLAPSE (Linux 6.1): make a range huge pages now, whatever transparent_hugepage says
	// (madvise(2)). On tmpfs the huge page stays in the file, so a life that takes the region over has it too.
	madvCollapse = 25
	// collapseAtOnce is how many huge pages one call asks for: 32 MiB, some 10 ms of a core. On a machine whose cores are
	// all busy the caller waits for a turn after each call, for tenths of a second in Go's scheduler; one by one, a pool of
	// 5 GiB would take half an hour.
	collapseAtOnce = 16
	// collapseRest is how long Collapse rests after each call, as a multiple of the time on a core that it took: it
	// takes a quarter of a core at most.
	collapseRest = 3
	// collapseFailures is after how many refusals in a row the kernel is believed to have none to give.
	collapseFailures = 16
)

// reserveHuge reserves the huge pages that lie within [from,to) of the frames, none of which is reserved, as such: the kernel then clears
// 2 MiB once, where otherwise it clears 512 pages, maps them one fault at a time and copies them all when Collapse comes. A GiB
// takes 0.06 s of a core instead of 1 (0.3 to reserve, 0.1 to 0.6 of faults, 0.2 to 0.6 to copy); in a virtual machine whose host has
// yet to find the memory, 1 to 1.7 instead of 2 to 3. What the kernel does not give is left to whoever reserves the rest in small pages.
func (r *Region) reserveHuge(from, to int64) error {
	from, to = (from+hugePage-1)&^(hugePage-1), to&^(hugePage-1)
	if r.smallPages || r.mem.file == nil || r.mem.granule >= hugePage || from >= to {
		return nil
	}
	// A range without any page is not made one.
	for at := from; at < to; at += hugePage {
		if err := r.mem.reserve(frameWindow, at, at+r.mem.granule); err != nil {
			return err
		}
	}
	err := unix.Madvise(r.mem.windows[frameWindow][from:to], madvCollapse)
	// Nothing else than a page that somebody had hold of will be better next time. Looking for 2 MiB that lie together is dear.
	r.smallPages = err != nil && err != unix.EAGAIN
	return nil
}

// Collapse makes huge pages of the frames' memory and returns how many it made: random reads then miss the TLB less (a fifth
// of the time of a cached read in a pool of 1 GiB), and the process that takes the region over meets one fault for 2 MiB
// instead of 32. No byte changes; who touches a range at that moment waits until its 2 MiB are copied. A kernel that
// cannot is no failure.
func (r *Region) Collapse(ctx context.Context) (made int) {
	runtime.LockOSThread() // for the clock
	defer runtime.UnlockOSThread()
	const frames = hugePage / page.Size
	for f, refused := 0, 0; refused < collapseFailures; {
		start := onCore()
		n, ok := r.collapseAt(f, collapseAtOnce*frames)
		switch {
		case n == 0:
			return made
		case ok:
			made, refused = made+n, 0
		default: // one of them is not to be had: which?
			for at := f; at < f+n*frames && ctx.Err() == nil; at += frames {
				if _, ok := r.collapseAt(at, frames); ok {
					made, refused = made+1, 0
				} else {
					refused++
				}
			}
		}
		f += n * frames
		select {
		case <-ctx.Done():
			return made
		case <-time.After(collapseRest * (onCore() - start)):
		}
	}
	return made
}

// collapseAt asks for huge pages of most frames, or as many as there are, and tells of how many, and whether all are made now.
func (r *Region) collapseAt(from, most int) (n int, ok bool) {
	r.shape.Lock()
	defer r.shape.Unlock()
	const frames = hugePage / page.Size
	n = min(most, r.Reserved()-from) / frames
	if r.closed || n <= 0 || r.mem.granule >= hugePage {
		return 0, false
	}
	b := r.mem.windows[frameWindow][int64(from)*page.Size : int64(from+n*frames)*page.Size]
	return n, unix.Madvise(b, madvCollapse) == nil
}

// onCore is how long the thread has had a core.
func onCore() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("BUG: no clock of the thread: " + err.Error())
	}
	return time.Duration(t.Nano())
}
