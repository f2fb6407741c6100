package replay

import (
	"hash/maphash"
	"sync"
	"time"
)

// memory remembers what was replayed lately, text by text, and which shapes of statements there are.
type memory struct {
	mu     sync.Mutex
	texts  []remembered // by hash, the newer of two in one place wins
	shapes map[uint64]uint32
}

type remembered struct {
	hash uint64
	at   time.Time
}

const (
	memoryTexts  = 1 << 18 // 32 bytes each
	memoryShapes = 1 << 16 // then all are forgotten
	commonAfter  = 8       // so often a shape was seen before it is common
)

func newMemory() *memory {
	return &memory{texts: make([]remembered, memoryTexts), shapes: map[uint64]uint32{}}
}

// hashOf a statement in its schema.
func hashOf(schema string, text []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(schema)
	h.WriteByte(0)
	h.Write(text)
	return h.Sum64()
}

// judge says what is known of a job before it is queued.
func (m *memory) judge(j *job, residency time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j.repeat = m.lately(j.hash, j.at, residency)
	if len(m.shapes) >= memoryShapes {
		clear(m.shapes)
	}
	n := m.shapes[j.fingerprint]
	m.shapes[j.fingerprint] = n + 1
	j.novel, j.common = n == 0, n >= commonAfter
}

// hot: the text was replayed so lately that its pages are still there.
func (m *memory) hot(hash uint64, residency time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lately(hash, time.Now(), residency)
}

// lately is hot for who holds the lock.
func (m *memory) lately(hash uint64, now time.Time, residency time.Duration) bool {
	r := m.texts[hash%memoryTexts]
	return r.hash == hash && now.Sub(r.at) < residency
}

// replayed notes that a text has touched its pages.
func (m *memory) replayed(hash uint64, at time.Time) {
	m.mu.Lock()
	m.texts[hash%memoryTexts] = remembered{hash, at}
	m.mu.Unlock()
}
