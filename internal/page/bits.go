package page

import (
	"fmt"
	"math/bits"
)

// Bitmap pages: from byte 64 on, one bit a page, set = in use. Bit i is page (first + i) of the
// space, where first is the bitmap page's own number less one (see package space).

// BitmapBits is how many pages one bitmap page speaks for.
const BitmapBits = (Size - HeaderSize) * 8

// Bit i of a bitmap page.
func (p *Page) Bit(i int) bool { return p[HeaderSize+i/8]&(1<<(i%8)) != 0 }

// SetBits is how many bits are set.
func (p *Page) SetBits() (n int) {
	for i := HeaderSize; i < Size; i += 8 {
		n += bits.OnesCount64(p.u64(i))
	}
	return n
}

// NextClear is the first clear bit at or after from, or -1.
func (p *Page) NextClear(from int) int {
	for i := from; i < BitmapBits; {
		if i%64 == 0 {
			w := p.u64(HeaderSize + i/8)
			if w == ^uint64(0) {
				i += 64
				continue
			}
			return i + bits.TrailingZeros64(^w)
		}
		if !p.Bit(i) {
			return i
		}
		i++
	}
	return -1
}

// CountBits is how many bits are set.
func (p *Page) CountBits() int {
	n := 0
	for off := HeaderSize; off < Size; off += 8 {
		n += bits.OnesCount64(p.u64(off))
	}
	return n
}

func (p *Page) setBits(from, count int, used bool) error {
	if p.Kind() != KindBitmap || from+count > BitmapBits {
		return fmt.Errorf("bits %d to %d of a %v page", from, from+count, p.Kind())
	}
	for i := from; i < from+count; i++ {
		if p.Bit(i) == used {
			return fmt.Errorf("bit %d is %v already", i, used)
		}
		p[HeaderSize+i/8] ^= 1 << (i % 8)
	}
	return nil
}
