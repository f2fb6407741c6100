package region

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scanChunk is how many descriptors a worker takes at once: 256 KiB, enough that the counter costs nothing,
// little enough that the workers end together.
const scanChunk = 4096

// Scan examines every descriptor. fn is called from the given number of goroutines (0: one for each
// processor), numbered from 0, so that each can gather by itself. For use at attach, before frames change.
func Scan(r *Region, workers int, fn func(worker, frame int, f Finding)) {
	inParallel(workers, 0, r.Frames(), func(worker, from, to int) {
		r.faultDescs(from, to, unix.MADV_POPULATE_READ) // reading, the kernel maps many pages in one fault
		for f := from; f < to; f++ {
			fn(worker, f, r.descs[f].Examine(f))
		}
	})
}

// faultDescs maps the pages of some descriptors in one call, instead of one fault for each. An older kernel
// refuses and faults them one by one.
func (r *Region) faultDescs(from, to, advice int) {
	pageSize := uintptr(r.mem.granule)
	lo := uintptr(from) * DescSize / pageSize * pageSize
	hi := (uintptr(to)*DescSize + pageSize - 1) / pageSize * pageSize
	_ = unix.Madvise(r.mem.windows[descWindow][lo:hi], advice)
}

// inParallel cuts [from,to) into chunks and has the workers take them by turns.
func inParallel(workers, from, to int, do func(worker, from, to int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, (to-from+scanChunk-1)/scanChunk)
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for {
				lo := int(next.Add(scanChunk)) - scanChunk
				if lo >= to {
					return
				}
				do(worker, lo, min(lo+scanChunk, to))
			}
		})
	}
	wg.Wait()
}

// A slice of descriptors lies without gaps, and aligned for its atomics.
var _ [unsafe.Alignof(Desc{}) - 8]struct{}
