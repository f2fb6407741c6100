package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
)

// MariaDB makes a server of the MariaDB that is installed, with InnoDB configured as its manual advises for a machine of its
// own: direct I/O, one buffer pool, and a log as large as asked for.
func MariaDB(c Config) (*Server, error) {
	if _, err := mariadbd(); err != nil {
		return nil, err
	}
	s, err := newServer("mariadb", c)
	if err != nil {
		return nil, err
	}
	s.create, s.command = createMariaDB, mariadbCommand
	return s, nil
}

// mariadbd finds the program; Debian keeps it out of the path of ordinary users.
func mariadbd() (string, error) {
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd", "mysqld", "/usr/sbin/mysqld"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("mariadbd: %w (on Debian: apt-get install mariadb-server)", ErrMissing)
}

// createMariaDB makes the system tables, once.
func createMariaDB(ctx context.Context, s *Server) error {
	if _, err := os.Stat(filepath.Join(s.Data(), "mysql")); err == nil {
		return nil
	}
	me, err := user.Current()
	if err != nil {
		return err
	}
	temp, err := temporary(s)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal",
		"--skip-test-db", "--datadir="+s.Data(), "--tmpdir="+temp, "--user="+me.Username).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	return nil
}

// temporary is a server's own folder for temporary tables. A server that starts removes those that it finds in its folder: were it
// the system's, those of a server beside it.
func temporary(s *Server) (string, error) {
	dir := filepath.Join(s.Config.Dir, "tmp")
	return dir, os.MkdirAll(dir, 0o755)
}

func mariadbCommand(ctx context.Context, s *Server) (*exec.Cmd, error) {
	path, err := mariadbd()
	if err != nil {
		return nil, err
	}
	flush := "0"
	if s.Config.Durable {
		flush = "1"
	}
	args, err := mariadbArgs(s)
	if err != nil {
		return nil, err
	}
	args = append(args,
		"--innodb-buffer-pool-size="+strconv.FormatInt(s.Config.Pool, 10),
		"--innodb-log-file-size="+strconv.FormatInt(s.Config.LogSize, 10),
		"--innodb-flush-method=O_DIRECT", "--innodb-flush-log-at-trx-commit="+flush,
		"--innodb-max-dirty-pages-pct=90", "--innodb-io-capacity=2000", "--innodb-io-capacity-max=20000",
	)
	return exec.CommandContext(ctx, path, append(args, s.Config.Extra...)...), nil
}

// mariadbArgs are what every server of MariaDB is given, whatever its storage engine.
func mariadbArgs(s *Server) ([]string, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	temp, err := temporary(s)
	if err != nil {
		return nil, err
	}
	return []string{
		"--no-defaults", "--user=" + me.Username, "--datadir=" + s.Data(), "--tmpdir=" + temp, "--socket=" + s.Socket,
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.Port), "--skip-name-resolve", "--skip-log-bin",
		"--pid-file=" + filepath.Join(s.Config.Dir, "mariadb.pid"),
		"--max-connections=1000", "--max-prepared-stmt-count=100000", "--table-open-cache=4000",
	}, nil
}
