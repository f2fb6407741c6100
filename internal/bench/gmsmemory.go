package bench

import (
	"context"
	"net"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	gms "github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/sirupsen/logrus"
)

// GMSMemory serves go-mysql-server as it comes, with its tables in memory and its own handler, on a unix socket until ctx is done:
// what statements cost there is the SQL surface's part of what they cost in hearth.
func GMSMemory(ctx context.Context, socket string) error {
	logrus.SetLevel(logrus.ErrorLevel) // it tells of every connection
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	provider := memory.NewDBProvider()
	s, err := gms.NewServer(gms.Config{Listener: l}, sqle.NewDefault(provider), sql.NewContext, memory.NewSessionBuilder(provider), nil)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { s.Close() })
	return s.Start()
}
