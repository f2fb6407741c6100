package page

import "fmt"

// Overflow pages: 24 next page u32 (0 = the last), 28 used u32 bytes, content from 64.
const (
	offNextPiece = 24
	offPieceLen  = 28
)

// OverflowBytes is how much of a large value one page holds.
const OverflowBytes = Size - HeaderSize

// OverflowNext is the page with the next piece, 0 at the end.
func (p *Page) OverflowNext() uint32 { return p.u32(offNextPiece) }

// OverflowData is this page's piece.
func (p *Page) OverflowData() []byte {
	return p[HeaderSize : HeaderSize+min(int(p.u32(offPieceLen)), OverflowBytes)]
}

// AppendOverflow fills a formatted overflow page: two edits, the header and the bytes, in one.
func AppendOverflow(dst []byte, next uint32, data []byte) []byte {
	var own [HeaderSize - offOwn]byte
	own[0], own[1], own[2], own[3] = byte(next), byte(next>>8), byte(next>>16), byte(next>>24)
	n := len(data)
	own[4], own[5] = byte(n), byte(n>>8)
	return append(AppendWrite(dst, offOwn, own[:]), data...)
}

// AppendOverflowNext links a piece to the next.
func AppendOverflowNext(dst []byte, next uint32) []byte {
	return AppendWrite(dst, offNextPiece, []byte{byte(next), byte(next >> 8), byte(next >> 16), byte(next >> 24)})
}

func (p *Page) checkOverflow() string {
	if n := p.u32(offPieceLen); n > OverflowBytes {
		return fmt.Sprintf("a piece of %d bytes", n)
	}
	return ""
}
