package replay

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Explanation is what a replay would do with one entry, and why.
type Explanation struct {
	Offset  int64    `json:"offset"`
	End     int64    `json:"end"`
	Kind    string   `json:"kind"`
	Session uint64   `json:"session"`
	Schema  *string  `json:"schema"` // null: not known
	State   string   `json:"state,omitempty"`
	Class   string   `json:"class"`
	Reason  string   `json:"reason,omitempty"`
	Vitess  string   `json:"vitess,omitempty"` // the second reader's objection
	Text    string   `json:"text"`
	Sent    []string `json:"sent,omitempty"`
}

// Explainer decides about entries as a Player does, and sends nothing.
type Explainer struct {
	Config   Config
	Writes   Writes
	base     Mode
	rewriter *Rewriter
	db       *sql.DB
	class    Classifier
	states   *lanes
}

// NewExplainer makes one. With a DSN it reads the definitions of tables there, without one changes are not rewritten.
func NewExplainer(ctx context.Context, cfg Config) (*Explainer, error) {
	x := &Explainer{Config: cfg, Writes: cfg.Target.Writes, class: Classifier{Allow: cfg.Allow}, states: newLanes()}
	if cfg.Target.DSN == "" {
		return x, nil
	}
	d, err := parseDSN(cfg.Target.DSN)
	if err != nil {
		return nil, err
	}
	d.InterpolateParams = true
	c, err := mysql.NewConnector(d)
	if err != nil {
		return nil, err
	}
	x.db = sql.OpenDB(c)
	v, err := readVariables(ctx, x.db, wanted)
	if err != nil {
		x.db.Close()
		return nil, fmt.Errorf("ask the target: %w", err)
	}
	if x.Config.Schema == "" {
		x.Config.Schema = d.DBName
	}
	x.base = ModeOf(v["sql_mode"])
	x.rewriter = &Rewriter{Table: (&schemas{db: x.db, mariadb: strings.Contains(v["version"], "MariaDB")}).table}
	return x, nil
}

// Close lets the target go.
func (x *Explainer) Close() {
	if x.db != nil {
		x.db.Close()
	}
}

// Explain says what would become of e. Entries must come in the order of the log, for sessions have a state.
func (x *Explainer) Explain(ctx context.Context, e *slowlog.Entry) Explanation {
	lane := laneOf(e)
	state := x.states.of(lane)
	mode := state.Mode(x.base)
	v := x.class.Entry(e, mode)
	out := Explanation{Offset: e.Offset, End: e.End, Kind: e.Kind.String(), Session: e.ThreadID, Class: v.Class.String(), Reason: v.Reason, Text: string(e.Text)}
	if v.Class == Session {
		after, ignored := state.After(e.Text, mode)
		if ignored != "" {
			out.Reason += ": " + ignored
		}
		x.states.put(lane, after)
	}
	if state != (State{}) {
		out.State = strings.TrimSpace(fmt.Sprintf("sql_mode=%q names=%q %s", state.Modes, state.Names, strings.ReplaceAll(state.Vars, "\n", " ")))
	}
	schema, known := state.Schema, state.Known
	if e.SchemaKnown {
		schema, known = string(e.Schema), true
	} else if !known && x.Config.Schema != "" {
		schema, known = x.Config.Schema, true
	}
	if known {
		out.Schema = &schema
	}
	if why := x.Config.Filter.leavesOut(e); why != "" {
		out.Reason = why
		return out
	}
	switch v.Class {
	case Read, Strip:
		if err := agrees(v.Text, mode); err != nil {
			out.Vitess = err.Error()
		} else if known {
			out.Sent = []string{string(v.Text)}
		} else {
			out.Reason = "schema not known"
		}
	case Write:
		out.Sent, out.Reason = x.rewrite(ctx, e, schema, mode)
	}
	return out
}

func (x *Explainer) rewrite(ctx context.Context, e *slowlog.Entry, schema string, m Mode) ([]string, string) {
	switch {
	case x.Writes == WritesSkip:
		return nil, "write"
	case x.rewriter == nil:
		return nil, "write: rewritten when a target tells the definitions of tables"
	}
	texts, err := x.rewriter.Rewrite(ctx, Change{Text: e.Text, Schema: schema, Mode: m, InsertID: e.InsertID, LastInsertID: e.LastInsertID})
	if err != nil {
		return nil, err.Error()
	}
	var kept []string
	for _, t := range texts {
		c := Classifier{Allow: x.class.Allow}
		if v := c.Classify([]byte(t), m); (v.Class == Read || v.Class == Strip) && agrees(v.Text, m) == nil {
			kept = append(kept, string(v.Text))
		}
	}
	if len(kept) == 0 {
		return nil, "not proved to read"
	}
	return kept, "rewritten"
}

// WriteText tells an explanation to people.
func (x Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("entry", "%s, bytes %d to %d, session %d", x.Kind, x.Offset, x.End, x.Session)
	if x.Schema == nil {
		line("schema", "not known")
	} else {
		line("schema", "%q", *x.Schema)
	}
	if x.State != "" {
		line("state", "%s", x.State)
	}
	line("text", "%q", x.Text)
	line("class", "%s", x.Class)
	if x.Reason != "" {
		line("reason", "%s", x.Reason)
	}
	if x.Vitess != "" {
		line("veto", "%s", x.Vitess)
	}
	for _, s := range x.Sent {
		line("sent", "%s", s)
	}
	if len(x.Sent) == 0 {
		line("sent", "nothing")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
