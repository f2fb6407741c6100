package replay

import (
	"regexp"
	"slices"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Filter leaves entries out. Empty lists leave out nothing.
type Filter struct {
	Users, Schemas       []string // only these
	NotUsers, NotSchemas []string
	Match, NotMatch      *regexp.Regexp // of the text
	Sessions             float64        // only this share of sessions, each whole; 0: all
	Entries              float64        // only this share of entries, by chance; 0: all
}

func (f *Filter) leavesOut(e *slowlog.Entry) string {
	switch {
	case len(f.Users) > 0 && !slices.Contains(f.Users, string(e.User)), slices.Contains(f.NotUsers, string(e.User)):
		return "filtered by user"
	case len(f.Schemas) > 0 && !slices.Contains(f.Schemas, string(e.Schema)), slices.Contains(f.NotSchemas, string(e.Schema)):
		return "filtered by schema"
	case f.Match != nil && !f.Match.Match(e.Text), f.NotMatch != nil && f.NotMatch.Match(e.Text):
		return "filtered by text"
	case f.Sessions > 0 && float64(mix(laneOf(e))%10_000) >= f.Sessions*10_000:
		return "session not in the sample"
	case f.Entries > 0 && float64(mix(uint64(e.Offset))%10_000) >= f.Entries*10_000:
		return "not in the sample"
	}
	return ""
}
