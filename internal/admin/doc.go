// Package admin lets a second process steer a running database: JSON over HTTP over a Unix socket in the data directory.
//
// It knows requests and answers. It does not know what a load or a dump is: those are methods of whoever serves.
//
// # Requests
//
//	GET  /warm/status                     → heat.Status
//	POST /warm/dump    heat.DumpOptions   → heat.DumpInfo
//	POST /warm/load    heat.LoadOptions   → heat.Status
//	POST /warm/pause, /warm/resume, /warm/cancel → heat.Status
//
// A failure is a status above 399 and {"error": "…"}.
//
// # Rules
//
//  1. The socket is for the owner of the data directory alone (mode 0600).
//  2. Whoever serves has the database open, and so is the only one: a socket that lies there is of a dead process, and removed.
package admin

import (
	"context"

	"github.com/hearthdb/hearth/internal/heat"
)

// SocketName is the name of the socket in the data directory.
const SocketName = "admin.sock"

// Warmth is what is steered.
type Warmth interface {
	Dump(ctx context.Context, o heat.DumpOptions) (heat.DumpInfo, error)
	Load(ctx context.Context, o heat.LoadOptions) error
	Pause()
	Resume()
	Cancel()
	Status() heat.Status
}

// failure is the answer to a request that failed.
type failure struct {
	Error string `json:"error"`
}
