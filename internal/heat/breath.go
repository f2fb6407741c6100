package heat

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// breath divides work into slices, behind each of which others get the core, and knows the longest. It counts the time that the
// work had a core, not that which it waited for one: only the first keeps others waiting. For that its goroutine stays on one
// thread, between newBreath and end.
type breath struct {
	began   time.Duration
	longest time.Duration
}

// breathAfter is how long a slice is. Behind each all others may come first, so shorter ones would make a dump on a busy machine long.
const breathAfter = 300 * time.Microsecond

func newBreath() *breath {
	runtime.LockOSThread()
	return &breath{began: onCore()}
}

func (b *breath) end() {
	b.longest = max(b.longest, onCore()-b.began)
	runtime.UnlockOSThread()
}

// breathe is called after each piece of work that is short beside breathAfter.
func (b *breath) breathe() {
	took := onCore() - b.began
	if took < breathAfter {
		return
	}
	b.longest = max(b.longest, took)
	runtime.Gosched()
	b.began = onCore()
}

// onCore is how long the thread has had a core.
func onCore() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("BUG: no clock of the thread: " + err.Error())
	}
	return time.Duration(t.Nano())
}
