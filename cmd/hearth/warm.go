package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/admin"
	"github.com/hearthdb/hearth/internal/heat"
)

// warmVerb steers the warmth of a running database.
type warmVerb struct {
	Dump   warmDumpVerb   `cmd:"" help:"Write the list of pages in memory, from hot to cold."`
	Load   warmLoadVerb   `cmd:"" help:"Read the pages of such a list into free memory, and watch; an interrupt ends the watching, not the load."`
	Pause  warmPauseVerb  `cmd:"" help:"Hold the load; reads under way end."`
	Resume warmResumeVerb `cmd:"" help:"Go on with the load."`
	Cancel warmCancelVerb `cmd:"" help:"End the load; what it has read stays."`
	Status warmStatusVerb `cmd:"" help:"Tell how far the load is, what the disk can do, and of the last dump."`
}

// warmFlags are shared by all of them.
type warmFlags struct {
	Data string `required:"" type:"path" placeholder:"DIR" help:"The data directory of the running server."`
	JSON bool   `name:"json" help:"Print one JSON object a line instead of text; times in nanoseconds where names end in _ns."`
}

func (f warmFlags) client() admin.Client { return admin.Client{Dir: f.Data} }

// followEvery is how often a load that is watched is looked at.
const followEvery = time.Second

type warmDumpVerb struct {
	warmFlags
	File    string `type:"path" placeholder:"FILE" help:"Where to; default: a new one among those kept in the data directory."`
	Percent *int   `placeholder:"N" help:"Only the hottest pages, at most so many percent of the pool, 1 to 100; default: as the server is set."`
}

func (v *warmDumpVerb) Run(ctx context.Context) error {
	o := heat.DumpOptions{Path: v.File}
	if v.Percent != nil {
		if o.Percent = *v.Percent; o.Percent == 0 { // in the options that is the default
			return errors.New("heat dump: percent is 0, want 1 to 100")
		}
	}
	i, err := v.client().Dump(ctx, o)
	if err != nil {
		return err
	}
	if v.JSON {
		return json.NewEncoder(os.Stdout).Encode(i)
	}
	fmt.Print(dumpText(i))
	return nil
}

// dumpText tells of a dump that was asked for.
func dumpText(i heat.DumpInfo) string {
	text := fmt.Sprintf("%s: %d pages, %d bytes, in %v; nobody waited longer than %v\n", i.File, i.Pages, i.Bytes,
		i.Took.Round(time.Millisecond), i.LongestStall.Round(time.Microsecond))
	if i.Partial != "" {
		text += "it is partial: " + i.Partial + "\n"
	}
	if i.EarlierKept {
		text += "the earlier dumps were all kept; a start loads the newest, which is this one, unless it is told another (--prewarm-file)\n"
	}
	return text
}

type warmLoadVerb struct {
	warmFlags
	File   string `type:"path" placeholder:"FILE" help:"The dump; default: the newest of the data directory."`
	Order  string `enum:",heat,physical" default:"" help:"heat: the hottest pages first; physical: as they lie on the disk."`
	NoWait bool   `help:"Begin it, and do not watch."`
}

func (v *warmLoadVerb) Run(ctx context.Context) error {
	s, err := v.client().Load(ctx, heat.LoadOptions{Path: v.File, Order: heat.Order(v.Order)})
	if err != nil {
		return err
	}
	if v.NoWait {
		return tellStatus(v.JSON, s)
	}
	return v.follow(ctx)
}

type warmPauseVerb struct{ warmFlags }

func (v *warmPauseVerb) Run(ctx context.Context) error { return v.tell(v.client().Pause(ctx)) }

type warmResumeVerb struct{ warmFlags }

func (v *warmResumeVerb) Run(ctx context.Context) error { return v.tell(v.client().Resume(ctx)) }

type warmCancelVerb struct{ warmFlags }

func (v *warmCancelVerb) Run(ctx context.Context) error { return v.tell(v.client().Cancel(ctx)) }

type warmStatusVerb struct {
	warmFlags
	Follow bool `help:"Watch the load until it ends."`
}

func (v *warmStatusVerb) Run(ctx context.Context) error {
	if v.Follow {
		return v.follow(ctx)
	}
	return v.tell(v.client().Status(ctx))
}

func (f warmFlags) tell(s heat.Status, err error) error {
	if err != nil {
		return err
	}
	return tellStatus(f.JSON, s)
}

// follow watches a load: a bar on a terminal, a line a second elsewhere.
func (f warmFlags) follow(ctx context.Context) error {
	terminal := !f.JSON && isTerminal(os.Stdout)
	for {
		s, err := f.client().Status(ctx)
		if err != nil {
			return err
		}
		over := s.State != heat.StateWaiting && s.State != heat.StateLoading && s.State != heat.StatePaused
		switch {
		case over && terminal:
			fmt.Print("\r\x1b[K")
			return tellStatus(false, s)
		case over:
			return tellStatus(f.JSON, s)
		case terminal:
			fmt.Print("\r\x1b[K" + bar(s, columns(os.Stdout)))
		case f.JSON:
			if err := tellStatus(true, s); err != nil {
				return err
			}
		default:
			numbers, more := progress(s)
			fmt.Println(numbers + more)
		}
		select {
		case <-ctx.Done():
			if terminal {
				fmt.Println() // the bar stays
			}
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// usualColumns is the width of a window that does not say.
const usualColumns = 80

// columns is how many signs fit into a line of a terminal.
func columns(f *os.File) int {
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 {
		return usualColumns
	}
	return int(w.Col)
}

// The picture of a bar takes what its numbers leave of the line, but is never wider than mostPicture, and left out below leastPicture.
const leastPicture, mostPicture = 8, 30

// bar is progress with a picture, in less than so many columns: a line that is wider than the window becomes two, of which the next
// look would replace the second only.
func bar(s heat.Status, columns int) string {
	numbers, more := progress(s)
	room := columns - 1 // in the last column some terminals begin the next line
	line := numbers + more
	if width := min(room-len(numbers)-len("[] "), mostPicture); width >= leastPicture {
		full := 0
		if s.Total > 0 {
			full = int(int64(width) * (s.Total - s.Left) / s.Total)
		}
		line = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + line
	}
	return line[:min(len(line), max(room, 0))]
}

// progress is a load under way: the numbers that matter most, and more.
func progress(s heat.Status) (numbers, more string) {
	if s.File == "" {
		return string(s.State), ": the log is read before the load begins"
	}
	numbers = fmt.Sprintf("%s: %d of %d pages", s.State, s.Total-s.Left, s.Total)
	if s.SecondsLeft > 0 {
		numbers += fmt.Sprintf(", %.0f s left", s.SecondsLeft)
	}
	numbers += fmt.Sprintf(", %.1f MB/s", s.BytesPerSecond/1e6)
	return numbers, fmt.Sprintf("; band %d of %d; disk %s", s.Band+1, s.Bands, s.Device.Situation)
}

func tellStatus(asJSON bool, s heat.Status) error {
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(s)
	}
	return writeStatus(os.Stdout, s)
}

// writeStatus tells all of it to people.
func writeStatus(w io.Writer, s heat.Status) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Error != "":
		line("load", "%s: %s", s.State, s.Error)
	case s.State == heat.StateIdle:
		line("load", "none since the start")
	case s.File == "":
		line("load", "%s, before it began: the log is read first", s.State)
	default:
		line("load", "%s, %s order, %s", s.State, s.Order, filepath.Base(s.File))
		line("pages", "%d: %d loaded (%d with a page somebody waited for), %d present, %d gone, %d without room, %d failed, %d left",
			s.Total, s.Loaded, s.Around, s.Present, s.Gone, s.NoRoom, s.Failed, s.Left)
		line("read", "%.1f MB in %d reads, %.1f MB/s, after %v", float64(s.BytesRead)/1e6, s.Reads, s.BytesPerSecond/1e6, s.Took.Round(time.Millisecond))
		if s.SecondsLeft > 0 {
			line("left", "%.0f s; band %d of %d", s.SecondsLeft, s.Band+1, s.Bands)
		}
	}
	if a := s.Accounting; a.Pages > 0 {
		line("worth", "of %d pages brought in %d were used, %d are not yet, %d left unused; about %d hits", a.Pages, a.Used, a.Unused, a.EvictedUnused, a.Hits)
	}
	d := s.Device
	line("disk", "%s%s", d.Situation, limits(d))
	if i := s.LastDump; i != nil {
		partial := ""
		if i.Partial != "" {
			partial = ", partial"
		}
		line("last dump", "%s, %d pages%s, at %s in %v, longest stall %v", filepath.Base(i.File), i.Pages, partial, i.At.Format(time.DateTime),
			i.Took.Round(time.Millisecond), i.LongestStall.Round(time.Microsecond))
	}
	if s.DumpWithheld != "" {
		line("dumps", "withheld: %s", s.DumpWithheld)
	}
	if s.DumpError != "" {
		line("dumps", "failed: %s", s.DumpError)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// limits says what was found out about a disk.
func limits(d heat.Device) string {
	out := ""
	if d.IOPS > 0 {
		out += fmt.Sprintf(", up to %.0f reads/s", d.IOPS)
	}
	if d.BytesPerSecond > 0 {
		out += fmt.Sprintf(", up to %.0f MB/s", d.BytesPerSecond/1e6)
	}
	if d.Bound != "" {
		out += ", short of " + d.Bound
	}
	if d.MissLatency > 0 {
		out += fmt.Sprintf(", a miss takes %.2f ms", d.MissLatency*1e3)
	}
	if d.MissAlone > 0 {
		out += fmt.Sprintf(" (%.2f ms without a load)", d.MissAlone*1e3)
	}
	return out
}
