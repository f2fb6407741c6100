package server

import (
	"cmp"
	"context"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// processList is what GMS asks for SHOW PROCESSLIST and information_schema.PROCESSLIST. Beginning and ending a statement is the
// handler's business (client.begin), so nothing here is called for each statement but EndQuery, which does nothing.
type processList struct {
	clients *clients
	viewer  *client // who asks; nil: the server itself
}

var _ gms.ProcessList = processList{}

// Processes implements gms.ProcessList, in the order of the connections' ids. Without the privilege PROCESS a user sees the own ones.
func (p processList) Processes() []gms.Process {
	var list []gms.Process
	own := p.viewer != nil && p.viewer.server.mayProcess(p.viewer.context(context.Background(), "")) != nil
	for _, cl := range p.clients.all() {
		if !own || cl.name() == p.viewer.name() {
			list = append(list, cl.process())
		}
	}
	slices.SortFunc(list, func(a, b gms.Process) int { return cmp.Compare(a.Connection, b.Connection) })
	return list
}

// forAll lets everybody ask for the process list, in which they see what they may. GMS asks for the privilege.
func forAll(stmt ast.Statement) {
	if show, ok := stmt.(*ast.Show); ok && strings.EqualFold(show.Type, "processlist") {
		show.Auth.AuthType = ast.AuthType_IGNORE
	}
}

// Kill implements gms.ProcessList.
func (p processList) Kill(id uint32) {
	if cl := p.clients.get(id); cl != nil {
		cl.interrupt(errInterrupted)
	}
}

func (p processList) BeginQuery(ctx *gms.Context, _ string) (*gms.Context, error) { return ctx, nil }
func (p processList) EndQuery(*gms.Context)                                       {}
func (p processList) BeginOperation(ctx *gms.Context) (*gms.Context, error)       { return ctx, nil }
func (p processList) EndOperation(*gms.Context)                                   {}

// Connections come and go with the handler.
func (p processList) AddConnection(uint32, string) {}
func (p processList) ConnectionReady(gms.Session)  {}
func (p processList) RemoveConnection(uint32)      {}

// Progress of tables is not kept.
func (p processList) UpdateTableProgress(uint64, string, int64)             {}
func (p processList) UpdatePartitionProgress(uint64, string, string, int64) {}
func (p processList) AddTableProgress(uint64, string, int64)                {}
func (p processList) AddPartitionProgress(uint64, string, string, int64)    {}
func (p processList) RemoveTableProgress(uint64, string)                    {}
func (p processList) RemovePartitionProgress(uint64, string, string)        {}
