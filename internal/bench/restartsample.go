package bench

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// sampler asks the server for its own counters, once a second, on a connection of its own. While the server is away there are none.
type sampler struct {
	server server
	facts  map[string]string                  // names of facts by names of counters
	latest atomic.Pointer[map[string]float64] // not taken yet
}

func newSampler(s server, facts map[string]string) *sampler {
	return &sampler{server: s, facts: facts}
}

// Facts of a server, under the names they have in timelines, besides factPages.
const (
	factReads         = "pool reads"           // pages somebody waited for, since the start
	factPagesRead     = "pages read"           // with those that were read ahead or loaded, since the start
	factDirty         = "dirty pages"          // now
	factAge           = "checkpoint age"       // bytes of log a crash would have to look at
	factLSN           = "log written"          // bytes, ever
	factLoad          = "load progress"        // % of the dumped pages
	factCacheMisses   = "block cache misses"   // MyRocks, since the start
	factNewOrders     = "new orders"           // committed, since the load began
	factConflictTries = "tries after conflict" // since the load began
)

// innodbFacts are the counters of InnoDB, and of hearth, which has them under the same names, by their name in SHOW GLOBAL STATUS.
var innodbFacts = map[string]string{
	"innodb_buffer_pool_reads": factReads, "innodb_pages_read": factPagesRead, "innodb_buffer_pool_pages_dirty": factDirty,
	"innodb_buffer_pool_pages_data": factPages, checkpointAge: factAge, "innodb_lsn_current": factLSN,
}

// rocksFacts are those of MyRocks. What the InnoDB beside it says is of no interest.
var rocksFacts = map[string]string{"rocksdb_block_cache_miss": factCacheMisses}

const checkpointAge = "innodb_checkpoint_age"

const loadStatus = "innodb_buffer_pool_load_status"

// sampleEvery and samplePatience: a server that is too busy to answer has no counters in that second.
const (
	sampleEvery    = time.Second
	samplePatience = 5 * time.Second
)

// run samples until ctx ends.
func (s *sampler) run(ctx context.Context) {
	db, err := s.server.Open("")
	if err != nil {
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	names := make([]string, 0, len(s.facts)+1)
	for name := range s.facts {
		names = append(names, "'"+name+"'")
	}
	query := "SHOW GLOBAL STATUS WHERE Variable_name IN (" + strings.Join(append(names, "'"+loadStatus+"'"), ", ") + ")"
	for every := time.NewTicker(sampleEvery); ; {
		select {
		case <-ctx.Done():
			every.Stop()
			return
		case <-every.C:
		}
		ask, cancel := context.WithTimeout(ctx, samplePatience)
		found := map[string]float64{}
		rows, err := db.QueryContext(ask, query)
		if err == nil {
			for rows.Next() {
				var name, value string
				if err = rows.Scan(&name, &value); err != nil {
					break
				}
				s.note(found, strings.ToLower(name), value)
			}
			rows.Close()
		}
		cancel()
		if err == nil && len(found) > 0 {
			s.latest.Store(&found)
		}
	}
}

// note puts one line of the answer among the facts.
func (s *sampler) note(found map[string]float64, name, value string) {
	if name == loadStatus {
		if part, ok := loadProgress(value); ok {
			found[factLoad] = part
		}
		return
	}
	if v, err := strconv.ParseFloat(value, 64); err == nil {
		found[s.facts[name]] = v
	}
}

// "Loaded 12800/230144 pages" is InnoDB's; it is found wherever a server writes so many of so many.
var loadedOf = regexp.MustCompile(`(?i)loaded (\d+)\s*(?:/|of)\s*(\d+)`)

// loadProgress is how much of the dump is loaded, in percent; false if nothing was said of it.
func loadProgress(status string) (float64, bool) {
	if m := loadedOf.FindStringSubmatch(status); m != nil {
		loaded, _ := strconv.ParseFloat(m[1], 64)
		if all, _ := strconv.ParseFloat(m[2], 64); all > 0 {
			return 100 * loaded / all, true
		}
	}
	return 100, strings.Contains(status, "load completed")
}

// take returns what was sampled since the last call, and what the clients know; nil when there is nothing new.
func (s *sampler) take(more func() map[string]float64) map[string]float64 {
	latest := s.latest.Swap(nil)
	if latest == nil {
		return nil
	}
	for name, v := range more() {
		(*latest)[name] = v
	}
	return *latest
}
