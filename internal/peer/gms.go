package peer

import (
	"context"
	"os/exec"
)

// GMSMemory makes a server of go-mysql-server with its own tables in memory; command is what serves it on the socket that it is
// given as its last argument. It keeps nothing and has no pool.
func GMSMemory(command ...string) func(Config) (*Server, error) {
	return func(c Config) (*Server, error) {
		s, err := newServer("go-mysql-server", c)
		if err != nil {
			return nil, err
		}
		s.command = func(ctx context.Context, s *Server) (*exec.Cmd, error) {
			args := append(append([]string(nil), command[1:]...), s.Socket)
			return exec.CommandContext(ctx, command[0], args...), nil
		}
		return s, nil
	}
}
