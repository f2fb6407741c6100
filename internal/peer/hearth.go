package peer

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Hearth makes a server of a hearth binary; extra flags of its verb serve are in Config.Extra. Its memory that survives lies
// in memoryDir, in a folder of the server's own.
func Hearth(binary, memoryDir string) func(Config) (*Server, error) {
	return func(c Config) (*Server, error) {
		s, err := newServer("hearth", c)
		if err != nil {
			return nil, err
		}
		s.command = func(ctx context.Context, s *Server) (*exec.Cmd, error) {
			durability := "process"
			if s.Config.Durable {
				durability = "commit"
			}
			args := []string{
				"serve", "--data=" + s.Data(), "--socket=" + s.Socket, "--listen=127.0.0.1:" + strconv.Itoa(s.Port),
				"--pool=" + strconv.FormatInt(s.Config.Pool, 10), "--log=" + strconv.FormatInt(s.Config.LogSize, 10),
				"--durability=" + durability,
			}
			if memoryDir != "" {
				args = append(args, "--memory-dir="+memoryDir)
			}
			return exec.CommandContext(ctx, binary, append(args, s.Config.Extra...)...), nil
		}
		return s, nil
	}
}

// Data is the server's data directory.
func (s *Server) Data() string { return filepath.Join(s.Config.Dir, "data") }
