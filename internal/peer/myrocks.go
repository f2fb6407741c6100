package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// MyRocks makes a server of the MariaDB that is installed whose tables are in RocksDB, with direct I/O and a block cache of the
// pool's size. Its own log has no limit to be set: memtables bound it.
func MyRocks(c Config) (*Server, error) {
	program, err := mariadbd()
	if err != nil {
		return nil, err
	}
	plugin, err := rocksPlugin()
	if err != nil {
		return nil, err
	}
	s, err := newServer("myrocks", c)
	if err != nil {
		return nil, err
	}
	s.create = createMariaDB
	s.command = func(ctx context.Context, s *Server) (*exec.Cmd, error) {
		flush := "2"
		if s.Config.Durable {
			flush = "1"
		}
		args, err := mariadbArgs(s)
		if err != nil {
			return nil, err
		}
		args = append(args, "--innodb-buffer-pool-size=33554432",
			"--plugin-dir="+filepath.Dir(plugin), "--plugin-load-add="+filepath.Base(plugin), "--plugin-maturity=gamma",
			"--default-storage-engine=ROCKSDB", "--default-tmp-storage-engine=InnoDB",
			"--rocksdb-strict-collation-check=OFF", "--rocksdb-deadlock-detect=ON",
			"--rocksdb-block-cache-size="+strconv.FormatInt(s.Config.Pool, 10), "--rocksdb-flush-log-at-trx-commit="+flush,
			"--rocksdb-use-direct-reads=ON", "--rocksdb-use-direct-io-for-flush-and-compaction=ON",
		)
		return exec.CommandContext(ctx, program, append(args, s.Config.Extra...)...), nil
	}
	return s, nil
}

// rocksPlugin is the path of the storage engine.
func rocksPlugin() (string, error) {
	for _, dir := range []string{"/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib/mariadb/plugin"} {
		path := filepath.Join(dir, "ha_rocksdb.so")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("MyRocks: %w (on Debian: apt-get install mariadb-plugin-rocksdb)", ErrMissing)
}
