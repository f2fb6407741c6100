package regex

import "sync"

// CacheEntries and CachePatternLimit bound what is remembered of patterns, process-wide: a query with a pattern over a column makes
// a Regex for each row, with the same pattern.
const (
	CacheEntries      = 256
	CachePatternLimit = 1 << 10 // bytes of a pattern that is remembered
)

type cacheKey struct {
	pattern string
	flags   RegexFlags
}

var cache struct {
	sync.Mutex
	programs map[cacheKey]*program
}

// compiled is compile with a memory. When it is full, any entry makes room.
func compiled(pattern string, flags RegexFlags) (*program, error) {
	if len(pattern) > CachePatternLimit {
		return compile(pattern, flags)
	}
	key := cacheKey{pattern, flags}
	cache.Lock()
	p := cache.programs[key]
	cache.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := compile(pattern, flags)
	if err != nil {
		return nil, err
	}
	cache.Lock()
	defer cache.Unlock()
	if cache.programs == nil {
		cache.programs = make(map[cacheKey]*program, CacheEntries)
	}
	if len(cache.programs) >= CacheEntries {
		for other := range cache.programs {
			delete(cache.programs, other)
			break
		}
	}
	cache.programs[key] = p
	return p, nil
}
