package replay

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A queue under every policy, with chance for its user: nothing is lost, nothing comes twice, lanes keep their order, and the
// bytes stay within the limit.
func TestQueueLosesNothing(t *testing.T) {
	for _, policy := range []Policy{PolicyBlock, PolicyDropOldest, PolicyDropNewest, PolicySample, PolicyNovelty} {
		t.Run(string(policy), func(t *testing.T) {
			r := seedOf(t)
			const n, limit = 20_000, 100 * (jobOverhead + 10)
			shed, run := 0, 0
			var mu sync.Mutex
			q := newQueue(limit, 50*time.Millisecond, policy, 4, func(*job, string) { mu.Lock(); shed++; mu.Unlock() })
			if policy == PolicyBlock {
				q.maxAge = 0
			}
			const most = 5
			several, chance := false, rand.New(rand.NewPCG(1, 1)) // guarded by mu, like what follows
			last := map[uint64]int64{}
			busy := map[uint64]bool{}
			var workers sync.WaitGroup
			for range 4 {
				workers.Go(func() {
					for {
						jobs := q.take(State{}, most, nil)
						if len(jobs) == 0 {
							return
						}
						mu.Lock()
						mine, back := map[uint64]bool{}, chance.IntN(20) == 0
						for _, j := range jobs {
							if busy[j.lane] && !mine[j.lane] {
								t.Errorf("two statements of lane %d at once", j.lane)
							}
							busy[j.lane], mine[j.lane] = true, true
							if j.place.Offset <= last[j.lane] {
								t.Errorf("lane %d: %d after %d", j.lane, j.place.Offset, last[j.lane])
							}
							if !back {
								last[j.lane] = j.place.Offset
								run++
							}
						}
						several = several || len(jobs) > 1
						nap := run%97 == 0
						mu.Unlock()
						if nap {
							time.Sleep(time.Millisecond)
						}
						mu.Lock()
						for lane := range mine {
							busy[lane] = false
						}
						mu.Unlock()
						if back {
							q.giveBack(jobs)
						} else {
							q.done(jobs)
						}
					}
				})
			}
			for i := range n {
				q.put(&job{lane: uint64(r.IntN(50)), text: make([]byte, 10), at: time.Now(), novel: r.IntN(10) == 0, common: r.IntN(2) == 0, repeat: r.IntN(2) == 0,
					place: Place{Offset: int64(i + 1)}})
				if s := q.status(time.Now()); s.Bytes > limit {
					t.Fatalf("%d bytes wait, the limit is %d", s.Bytes, limit)
				}
				if i%1000 == 0 {
					q.tune(time.Now(), 8, i%3000 == 0)
				}
			}
			q.passed(Place{Offset: n + 1})
			q.close(true)
			workers.Wait()
			if !several {
				t.Error("jobs were never taken together, so that was not tested")
			}
			if run+shed != n {
				t.Errorf("%d run and %d shed, want %d", run, shed, n)
			}
			if policy == PolicyBlock && shed > 0 {
				t.Errorf("%d were shed", shed)
			}
			if at := q.marks.at(); at.Offset != n+1 {
				t.Errorf("the mark is at %d, want %d", at.Offset, n+1)
			}
		})
	}
}

// The first of its kind stays while others can go.
func TestNoveltyKeepsTheFirstOfItsKind(t *testing.T) {
	var gone []*job
	q := newQueue(10*(jobOverhead+1), 0, PolicyNovelty, 1, func(j *job, _ string) { gone = append(gone, j) })
	for i := range 30 {
		q.put(&job{lane: uint64(i), text: []byte{1}, at: time.Now(), novel: i%5 == 0})
	}
	for _, j := range gone {
		if j.novel {
			t.Errorf("job %d, the first of its kind, was shed", j.lane)
		}
	}
	if len(gone) != 20 {
		t.Errorf("%d were shed, want 20", len(gone))
	}
}
