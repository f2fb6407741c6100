package region

// Accept notes that recovery believes the contents: they are those of the life with this nonce, the last one that ran.
// From here on that life counts as the one that got ready, so that the nonce of an attempt may be replaced by the next.
func (r *Region) Accept(nonce uint64) {
	r.update(func(s *state) { s.lifeNonce = nonce })
}
