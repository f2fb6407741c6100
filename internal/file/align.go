package file

import "unsafe"

// AlignedBuf is n bytes of zeroed memory that begin at a multiple of Alignment.
func AlignedBuf(n int) []byte {
	buf := make([]byte, n+Alignment)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & (Alignment - 1)
	return buf[skip : skip+n : skip+n]
}

// Aligned says whether buf may be given to a file opened Direct.
func Aligned(buf []byte) bool {
	return (uintptr(unsafe.Pointer(unsafe.SliceData(buf)))|uintptr(len(buf)))&(Alignment-1) == 0
}
