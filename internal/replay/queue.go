package replay

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Policy says what happens when entries come faster than the target takes them.
type Policy string

// Policies.
const (
	PolicyBlock      Policy = "block"       // the input waits; nothing is shed
	PolicyDropOldest Policy = "drop-oldest" // room is made by the one that waited longest
	PolicyDropNewest Policy = "drop-newest" // what comes is dropped until there is room
	PolicySample     Policy = "sample"      // whole sessions are left out, as many as it takes
	PolicyNovelty    Policy = "novelty"     // first what was replayed lately, then what is common, never the first of its kind while others can go
)

// job is a statement on its way.
type job struct {
	lane        uint64
	text        []byte
	change      *Change // of writes; text is the change itself
	class       Class
	state       State
	fingerprint uint64
	hash        uint64 // of schema and text
	novel       bool   // the first of its fingerprint
	common      bool   // its fingerprint was seen often
	repeat      bool   // its very text was replayed lately
	at          time.Time
	ended       int64 // Unix nanoseconds on the source, by the log's clock; 0: not known
	seq         int64 // of those that were queued
	place       Place // where the input stood before it

	prev, next   *job // all that wait, oldest first
	lprev, lnext *job // those of its lane
	queued       bool
}

// jobOverhead is what a job takes besides its text, about.
const jobOverhead = 384

func (j *job) size() int64 { return int64(len(j.text)) + jobOverhead }

// lane keeps the statements of one session in order.
type lane struct {
	first, last *job
	busy        bool // one of its statements is being run
	ready       bool // it is in the list of lanes to take from
}

// queue holds what waits, bounded in bytes and in age (rules 7 and 8).
type queue struct {
	maxBytes int64
	maxAge   time.Duration
	policy   Policy
	shed     func(j *job, reason string)

	mu          sync.Mutex
	work, room  *sync.Cond
	lanes       map[uint64]*lane
	ready       []uint64
	first, last *job
	n           int
	bytes       int64
	inflight    int
	limit       int // of inflight
	closed      bool
	cut         bool // closed, and what waits is not run any more
	paused      bool
	refuse      string // why nothing is taken in at present, "" while it is
	seq         int64
	keep        float64 // share of sessions that the policy sample lets through
	marks       markList
}

func newQueue(maxBytes int64, maxAge time.Duration, p Policy, limit int, shed func(*job, string)) *queue {
	q := &queue{maxBytes: maxBytes, maxAge: maxAge, policy: p, limit: limit, shed: shed, lanes: map[uint64]*lane{}, keep: 1}
	q.work, q.room = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	return q
}

// Shares of the queue at which the policy novelty begins to shed.
const (
	repeatsFrom = 0.50
	commonFrom  = 0.75
)

// put takes a job in, or sheds it, or another one for it.
func (q *queue) put(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.policy == PolicyBlock && q.n > 0 && q.bytes+j.size() > q.maxBytes && !q.closed && q.refuse == "" {
		q.room.Wait()
	}
	if q.closed {
		q.seq++
		q.marks.add(q.seq, j.place) // for ever open: the next run begins with it
		q.shed(j, reasonStopped)
		return
	}
	if q.refuse != "" {
		q.shed(j, q.refuse)
		return
	}
	if q.policy == PolicySample && float64(mix(j.lane)%1000) >= q.keep*1000 {
		q.shed(j, "sampled out")
		return
	}
	if q.policy == PolicyNovelty {
		level := q.level(j.at)
		if level > repeatsFrom && j.repeat {
			q.shed(j, "replayed lately")
			return
		}
		if level > commonFrom && j.common {
			q.shed(j, "common")
			return
		}
	}
	for q.n > 0 && q.bytes+j.size() > q.maxBytes {
		switch q.policy {
		case PolicyDropOldest:
			q.drop(q.first, "queue full")
		case PolicyNovelty:
			victim := q.leastNovel()
			if victim.novel && !j.novel {
				q.shed(j, "queue full")
				return
			}
			q.drop(victim, "queue full")
		default:
			q.shed(j, "queue full")
			return
		}
	}
	q.push(j)
	q.work.Signal()
}

// level is how full the queue is, by bytes or by age, whichever is worse.
func (q *queue) level(now time.Time) float64 {
	l := float64(q.bytes) / float64(q.maxBytes)
	if q.first != nil && q.maxAge > 0 {
		l = max(l, float64(now.Sub(q.first.at))/float64(q.maxAge))
	}
	return l
}

// evictScan is how many of the oldest are looked at for one that is not the first of its kind.
const evictScan = 64

func (q *queue) leastNovel() *job {
	for j, n := q.first, 0; j != nil && n < evictScan; j, n = j.next, n+1 {
		if !j.novel {
			return j
		}
	}
	return q.first
}

// mix spreads session numbers, which come in sequence.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

func (q *queue) push(j *job) {
	l := q.lanes[j.lane]
	if l == nil {
		l = &lane{}
		q.lanes[j.lane] = l
	}
	q.seq++
	j.queued, j.seq = true, q.seq
	q.marks.add(j.seq, j.place)
	if j.prev = q.last; j.prev != nil {
		j.prev.next = j
	} else {
		q.first = j
	}
	q.last = j
	if j.lprev = l.last; j.lprev != nil {
		j.lprev.lnext = j
	} else {
		l.first = j
	}
	l.last = j
	q.n++
	q.bytes += j.size()
	q.offer(j.lane, l)
}

// offer puts a lane on the list if there is something to take.
func (q *queue) offer(id uint64, l *lane) {
	if l.first != nil && !l.busy && !l.ready {
		l.ready = true
		q.ready = append(q.ready, id)
	}
}

// unlink takes a job out of both lists.
func (q *queue) unlink(j *job) {
	if !j.queued {
		panic(fmt.Sprintf("BUG: job %d is not in the queue", j.seq))
	}
	l := q.lanes[j.lane]
	j.queued = false
	if j.prev != nil {
		j.prev.next = j.next
	} else {
		q.first = j.next
	}
	if j.next != nil {
		j.next.prev = j.prev
	} else {
		q.last = j.prev
	}
	if j.lprev != nil {
		j.lprev.lnext = j.lnext
	} else {
		l.first = j.lnext
	}
	if j.lnext != nil {
		j.lnext.lprev = j.lprev
	} else {
		l.last = j.lprev
	}
	j.prev, j.next, j.lprev, j.lnext = nil, nil, nil, nil
	q.n--
	q.bytes -= j.size()
	q.room.Signal()
}

// passed notes that the input is read up to a place.
func (q *queue) passed(p Place) {
	q.mu.Lock()
	q.marks.last = p
	q.mu.Unlock()
}

// reasonStopped is that of what waits when a replay is ended. A checkpoint names the place before it.
const reasonStopped = "stopped"

// drop sheds a waiting job.
func (q *queue) drop(j *job, reason string) {
	q.unlink(j)
	if l := q.lanes[j.lane]; l.first == nil && !l.busy && !l.ready {
		delete(q.lanes, j.lane)
	}
	if reason != reasonStopped {
		q.marks.done(j.seq)
	}
	q.shed(j, reason)
}

// likeScan is how many ready lanes are looked at for one in the state a connection has.
const likeScan = 8

// take waits for jobs that can be run one after the other on one connection: of one state, at most so many, and more than one only
// where more wait than there are connections for. They are appended to into; none when there will be none any more.
func (q *queue) take(like State, most int, into []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		q.expire(time.Now())
		if !q.paused && q.inflight < q.limit {
			if j := q.pick(like, likeScan); j != nil {
				q.inflight++
				return q.more(append(into, j), min(most, 1+q.n/(2*q.limit)))
			}
		}
		if q.closed && q.n == 0 {
			return into
		}
		q.work.Wait()
	}
}

// more adds jobs of the same state until there are so many: what comes next in the same lanes, else what another lane has.
func (q *queue) more(jobs []*job, most int) []*job {
	for len(jobs) < most {
		last := jobs[len(jobs)-1]
		j := q.lanes[last.lane].first
		if j != nil && j.state == last.state {
			q.unlink(j)
		} else if j = q.pick(last.state, 0); j == nil {
			break
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// pick takes the first job of a ready lane, of one in the wanted state if there is one among the first, else of the first; with
// scan 0 it is that state or none.
func (q *queue) pick(like State, scan int) *job {
	at := -1
	for i := 0; i < len(q.ready); i++ {
		l := q.lanes[q.ready[i]]
		if l == nil || l.first == nil { // what it had was dropped
			if l != nil {
				l.ready = false
				if !l.busy {
					delete(q.lanes, q.ready[i])
				}
			}
			q.ready = append(q.ready[:i], q.ready[i+1:]...)
			i--
			continue
		}
		if at < 0 && scan > 0 {
			at = i
		}
		if l.first.state == like {
			at = i
			break
		}
		if i >= scan {
			break
		}
	}
	if at < 0 {
		return nil
	}
	l := q.lanes[q.ready[at]]
	if at == 0 {
		q.ready = q.ready[1:]
	} else {
		q.ready = append(q.ready[:at], q.ready[at+1:]...)
	}
	l.ready, l.busy = false, true
	j := l.first
	q.unlink(j)
	return j
}

// done gives the lanes of jobs back, which were taken together.
func (q *queue) done(jobs []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		q.marks.done(j.seq)
	}
	q.release(jobs)
}

// release frees the lanes of jobs that were taken together.
func (q *queue) release(jobs []*job) {
	q.inflight--
	for _, j := range jobs {
		l := q.lanes[j.lane]
		if l == nil {
			continue // another one of its lane is among them
		}
		l.busy = false
		if l.first == nil {
			delete(q.lanes, j.lane)
		} else {
			q.offer(j.lane, l)
		}
	}
	q.work.Signal()
	if q.closed && q.n == 0 {
		q.work.Broadcast()
	}
}

// giveBack puts jobs that were taken together, and not sent, where they were: before all others.
func (q *queue) giveBack(jobs []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range slices.Backward(jobs) {
		l := q.lanes[j.lane]
		j.queued = true
		if j.next = q.first; j.next != nil {
			j.next.prev = j
		} else {
			q.last = j
		}
		q.first = j
		if j.lnext = l.first; j.lnext != nil {
			j.lnext.lprev = j
		} else {
			l.last = j
		}
		l.first = j
		q.n++
		q.bytes += j.size()
	}
	q.release(jobs)
	switch {
	case q.refuse != "":
		q.empty(q.refuse)
	case q.closed && q.cut:
		q.empty(reasonStopped)
	}
}

// expire sheds what has waited too long. The policy block waits instead.
func (q *queue) expire(now time.Time) {
	for q.policy != PolicyBlock && q.maxAge > 0 && q.first != nil && now.Sub(q.first.at) > q.maxAge {
		q.drop(q.first, "too old")
	}
}

// close ends the input. With drain the rest is run, else shed.
func (q *queue) close(drain bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.cut = true, !drain
	if !drain {
		q.empty(reasonStopped)
	}
	q.work.Broadcast()
	q.room.Broadcast()
}

func (q *queue) empty(reason string) {
	for q.first != nil {
		q.drop(q.first, reason)
	}
}

// pause keeps jobs from being taken. With a reason, what waits and what comes is shed for it.
func (q *queue) pause(paused bool, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.paused, q.refuse = paused, reason
	if reason != "" {
		q.empty(reason)
		q.room.Broadcast()
	}
	if !paused {
		q.work.Broadcast()
	}
}

// tune is called at intervals: it sheds what is too old and moves the limits. distress: the target says it has enough.
func (q *queue) tune(now time.Time, connections int, distress bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	switch backlog := q.first != nil && now.Sub(q.first.at) > 50*time.Millisecond; {
	case distress:
		q.limit = max(1, q.limit*7/10)
	case backlog && q.limit < connections:
		q.limit++
	}
	switch level := q.level(now); {
	case level > 0.7:
		q.keep = max(0.001, q.keep*0.95)
	case level < 0.3:
		q.keep = min(1, q.keep+0.005)
	}
	q.work.Broadcast()
}

// QueueStatus is how the queue stands.
type QueueStatus struct {
	Waiting  int           `json:"waiting"`
	Bytes    int64         `json:"bytes"`
	Oldest   time.Duration `json:"oldest_ns"`
	Inflight int           `json:"inflight"`
	Limit    int           `json:"limit"`
	Lanes    int           `json:"lanes"`
}

func (q *queue) status(now time.Time) QueueStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := QueueStatus{Waiting: q.n, Bytes: q.bytes, Inflight: q.inflight, Limit: q.limit, Lanes: len(q.lanes)}
	if q.first != nil {
		s.Oldest = now.Sub(q.first.at)
	}
	return s
}
