package dict

import (
	"fmt"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// idRecord is a number: the limit of ids, or what a name stands for.
type idRecord struct {
	versioned
	ID uint64 `json:"id"`
}

func recordOfID(id uint64) idRecord { return idRecord{versioned{format}, id} }

type databaseRecord struct {
	versioned
	ID        uint64 `json:"id"`
	Name      text   `json:"name"`
	Collation string `json:"collation,omitempty"`
	Comment   text   `json:"comment,omitempty"`
}

func recordOfDatabase(db *Database) databaseRecord {
	return databaseRecord{versioned{format}, db.ID, text(db.Name), db.Collation.Name(), text(db.Comment)}
}

func (r *databaseRecord) database() (*Database, error) {
	collation, err := gms.ParseCollation("", r.Collation, false)
	if err != nil {
		return nil, err
	}
	return &Database{ID: r.ID, Name: string(r.Name), Collation: collation, Comment: string(r.Comment)}, checkName(string(r.Name))
}

type viewRecord struct {
	versioned
	Name    text `json:"name"`
	Select  text `json:"select"`
	Create  text `json:"create"`
	SQLMode text `json:"sql_mode"`
}

func recordOfView(v View) viewRecord {
	return viewRecord{versioned{format}, text(v.Name), text(v.TextDefinition), text(v.CreateViewStatement), text(v.SqlMode)}
}

func (r *viewRecord) view() *View {
	return &View{Name: string(r.Name), TextDefinition: string(r.Select), CreateViewStatement: string(r.Create), SqlMode: string(r.SQLMode)}
}

type triggerRecord struct {
	versioned
	Name    text      `json:"name"`
	Create  text      `json:"create"`
	Created time.Time `json:"created"`
	SQLMode text      `json:"sql_mode"`
}

func recordOfTrigger(t Trigger) triggerRecord {
	return triggerRecord{versioned{format}, text(t.Name), text(t.CreateStatement), stored(t.CreatedAt), text(t.SqlMode)}
}

func (r *triggerRecord) trigger() *Trigger {
	return &Trigger{Name: string(r.Name), CreateStatement: string(r.Create), CreatedAt: r.Created, SqlMode: string(r.SQLMode)}
}

type procedureRecord struct {
	versioned
	Name     text      `json:"name"`
	Create   text      `json:"create"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	SQLMode  text      `json:"sql_mode"`
}

func recordOfProcedure(p Procedure) procedureRecord {
	return procedureRecord{versioned{format}, text(p.Name), text(p.CreateStatement), stored(p.CreatedAt), stored(p.ModifiedAt), text(p.SqlMode)}
}

func (r *procedureRecord) procedure() *Procedure {
	return &Procedure{
		Name: string(r.Name), CreateStatement: string(r.Create), CreatedAt: r.Created, ModifiedAt: r.Modified, SqlMode: string(r.SQLMode),
	}
}

type eventRecord struct {
	versioned
	Name                 text      `json:"name"`
	Body                 text      `json:"body"`
	TimezoneOffset       text      `json:"timezone_offset"`
	Status               text      `json:"status"`
	Definer              text      `json:"definer"`
	SQLMode              text      `json:"sql_mode"`
	Created              time.Time `json:"created"`
	Altered              time.Time `json:"altered"`
	Executed             time.Time `json:"executed"`
	Comment              text      `json:"comment,omitempty"`
	OnCompletionPreserve bool      `json:"on_completion_preserve,omitempty"`
	HasExecuteAt         bool      `json:"has_execute_at,omitempty"`
	ExecuteAt            time.Time `json:"execute_at"`
	ExecuteEvery         text      `json:"execute_every,omitempty"`
	Starts               time.Time `json:"starts"`
	HasEnds              bool      `json:"has_ends,omitempty"`
	Ends                 time.Time `json:"ends"`
}

func recordOfEvent(e Event) eventRecord {
	return eventRecord{
		versioned: versioned{format},
		Name:      text(e.Name), Body: text(e.EventBody), TimezoneOffset: text(e.TimezoneOffset), Status: text(e.Status),
		Definer: text(e.Definer), SQLMode: text(e.SqlMode),
		Created: stored(e.CreatedAt), Altered: stored(e.LastAltered), Executed: stored(e.LastExecuted),
		Comment: text(e.Comment), OnCompletionPreserve: e.OnCompletionPreserve,
		HasExecuteAt: e.HasExecuteAt, ExecuteAt: stored(e.ExecuteAt), ExecuteEvery: text(e.ExecuteEvery),
		Starts: stored(e.Starts), HasEnds: e.HasEnds, Ends: stored(e.Ends),
	}
}

func (r *eventRecord) event() *Event {
	return &Event{
		Name: string(r.Name), EventBody: string(r.Body), TimezoneOffset: string(r.TimezoneOffset), Status: string(r.Status),
		Definer: string(r.Definer), SqlMode: string(r.SQLMode),
		CreatedAt: r.Created, LastAltered: r.Altered, LastExecuted: r.Executed,
		Comment: string(r.Comment), OnCompletionPreserve: r.OnCompletionPreserve,
		HasExecuteAt: r.HasExecuteAt, ExecuteAt: r.ExecuteAt, ExecuteEvery: string(r.ExecuteEvery),
		Starts: r.Starts, HasEnds: r.HasEnds, Ends: r.Ends,
	}
}

type variableRecord struct {
	versioned
	Value text `json:"value"`
}

type usersRecord struct {
	versioned
	Data []byte `json:"data"` // base64
}

// stored is t as it comes back: UTC, without the reading of the monotonic clock.
func stored(t time.Time) time.Time { return t.Round(0).UTC() }

// checkTimes: JSON writes four digits of the year.
func checkTimes(times ...time.Time) error {
	for _, t := range times {
		if y := t.UTC().Year(); y < 0 || y > 9999 {
			return fmt.Errorf("time %v: the year has to be 0 to 9999", t)
		}
	}
	return nil
}
