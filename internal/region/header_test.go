package region

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

var testIdentity = identity{uuid: [16]byte{1, 2, 3}, bootID: [16]byte{4, 5, 6}}

// testHeader is a header after two states; the second is the newer.
func testHeader() (b []byte, older, newer state) {
	b = make([]byte, headerRead)
	encodeStatic(b, testIdentity)
	copy(b, magic)
	older = state{seq: 41, durable: 4096, incarnation: 3, lifeNonce: 10, attachNonce: 11, frames: 100,
		ringBytes: RingUnit, flags: flagFrames | flagRing, attempts: 1}
	newer = older
	newer.seq, newer.durable, newer.flags = 42, 8192, newer.flags|flagClean
	putState(b, older)
	putState(b, newer)
	return b, older, newer
}

func putState(b []byte, s state) {
	var buf [slotBytes]byte
	s.encode(&buf)
	at := slotOffsets[s.seq&1]
	store(b[at:at+slotBytes], &buf)
}

func TestHeaderRoundTrip(t *testing.T) {
	b, _, newer := testHeader()
	if st, why, detail := decodeHeader(b, testIdentity); st != newer || why != "" {
		t.Fatalf("got %+v, %q (%s), want %+v", st, why, detail, newer)
	}
}

// A death after any number of bytes of a slot: the state is the old one or the new one.
func TestHeaderTornSlot(t *testing.T) {
	b, _, newer := testHeader()
	next := newer
	next.seq, next.durable, next.frames = 43, 1<<30, 7
	var buf [slotBytes]byte
	next.encode(&buf)
	at := slotOffsets[next.seq&1]
	for n := 8; n <= slotBytes; n += 4 { // the first and last word are one store each
		if n == slotEndAt+4 {
			continue
		}
		torn := bytes.Clone(b)
		copy(torn[at:at+n], buf[:n])
		st, why, detail := decodeHeader(torn, testIdentity)
		want := newer
		if n >= slotSumAt+4 {
			want = next
		}
		if why != "" || st != want {
			t.Errorf("torn after %d bytes: got %+v, %q (%s), want %+v", n, st, why, detail, want)
		}
	}
}

// Any flipped bit that matters throws the region away: an older state must not come back by damage.
func TestHeaderFlips(t *testing.T) {
	b, _, newer := testHeader()
	rnd := rand.New(rand.NewPCG(3, 4))
	for bit := range len(b) * 8 {
		for range 3 {
			c := bytes.Clone(b)
			c[bit/8] ^= 1 << (bit % 8)
			if rnd.IntN(3) != 0 {
				n := rnd.IntN(len(b) * 8)
				c[n/8] ^= 1 << (n % 8)
			}
			if st, why, _ := decodeHeader(c, testIdentity); why == "" && st != newer {
				t.Fatalf("bit %d flipped: got %+v, want %+v or a reason", bit, st, newer)
			}
			if bit > 24*8 && bit < staticOffset*8 || bit > (staticOffset+staticBytes)*8 && bit < slotOffsets[0]*8 {
				bit += 7 // the gaps mean nothing; a byte at a time does
			}
		}
	}
}

func TestHeaderHostileState(t *testing.T) {
	for name, change := range map[string]func(*state){
		"no frames":      func(s *state) { s.frames = 0 },
		"many frames":    func(s *state) { s.frames = MaxFrames + 1 },
		"no ring":        func(s *state) { s.ringBytes = 0 },
		"odd ring":       func(s *state) { s.ringBytes = RingUnit + 1 },
		"huge ring":      func(s *state) { s.ringBytes = 2 * MaxRingBytes },
		"unknown flag":   func(s *state) { s.flags |= 1 << 9 },
		"frames no ring": func(s *state) { s.flags = flagFrames },
	} {
		b, _, newer := testHeader()
		change(&newer)
		putState(b, newer)
		if _, why, _ := decodeHeader(b, testIdentity); why != ReasonDamagedHeader {
			t.Errorf("%s: got %q, want %q", name, why, ReasonDamagedHeader)
		}
	}
}

func FuzzHeader(f *testing.F) {
	b, _, _ := testHeader()
	f.Add(b[:128], b[slotOffsets[0]:slotOffsets[0]+slotBytes], b[slotOffsets[1]:slotOffsets[1]+slotBytes])
	f.Add([]byte(magic), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, front, even, odd []byte) {
		b := make([]byte, headerRead)
		copy(b, front)
		copy(b[slotOffsets[0]:slotOffsets[0]+slotBytes], even)
		copy(b[slotOffsets[1]:slotOffsets[1]+slotBytes], odd)
		st, why, _ := decodeHeader(b, testIdentity)
		if why != "" {
			return
		}
		if err := st.validate(); err != nil {
			t.Fatalf("accepted %+v: %v", st, err)
		}
		next := st
		next.seq++
		putState(b, next)
		if got, why, detail := decodeHeader(b, testIdentity); got != next {
			t.Fatalf("after one more state: got %+v, %q (%s), want %+v", got, why, detail, next)
		}
	})
}
