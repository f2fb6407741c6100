package rows

// Key is an order-preserving encoding of some columns of a table: comparing bytes is comparing
// values by gms.Type.Compare, part by part. NULL sorts first. Each part is self-delimiting.
type Key struct{ parts []Part }

// Len is the number of parts.
func (k *Key) Len() int { return len(k.parts) }

// Part is part i as it was declared.
func (k *Key) Part(i int) Part { return k.parts[i] }

// MaxSize is the size in bytes of the longest key of these types, math.MaxInt when there is no bound.
func (k *Key) MaxSize() int { return 0 }

// AppendPart appends value v (nil: NULL) as part i, cut to the part's prefix.
func (k *Key) AppendPart(dst []byte, i int, v any) ([]byte, error) { return dst, errNotYet }

// AppendBound is AppendPart for an end of a range: v may be longer than the column allows.
func (k *Key) AppendBound(dst []byte, i int, v any) ([]byte, error) { return dst, errNotYet }

// Split cuts part i off the head of b. Both results are slices of b.
func (k *Key) Split(b []byte, i int) (part, rest []byte, err error) { return nil, nil, errNotYet }

// Reversible reports whether the column's value can be had back from part i.
func (k *Key) Reversible(i int) bool { return false }

// DecodePart is the value of part i at the head of b. It needs Reversible(i).
func (k *Key) DecodePart(b []byte, i int) (v any, rest []byte, err error) { return nil, nil, errNotYet }
