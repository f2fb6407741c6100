package sqltorture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// defaultMemory is where Linux always has a tmpfs.
const defaultMemory = "/dev/shm"

// folders are those of one run, removed at its end.
type folders struct {
	root   string // on the disk
	server string // the server's, short enough for the path of a socket
	logs   string // what servers wrote to standard error
	shared string // in memory
	memory string // of the region
	stale  string // copy of an older region
}

func makeFolders(cfg Config) (f folders, err error) {
	if cfg.Dir != "" {
		if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
			return f, err
		}
	}
	if f.root, err = os.MkdirTemp(cfg.Dir, "hearth-sql-"); err != nil {
		return f, err
	}
	memory := cfg.Memory
	if memory == "" {
		memory = defaultMemory
	}
	if f.shared, err = os.MkdirTemp(memory, "hearth-sql-"); err != nil {
		return f, errors.Join(fmt.Errorf("a folder in memory: %w", err), f.remove())
	}
	f.server, f.logs = filepath.Join(f.root, "s"), filepath.Join(f.root, "logs")
	f.memory, f.stale = filepath.Join(f.shared, "region"), filepath.Join(f.shared, "stale")
	for _, d := range []string{f.server, f.logs, f.memory} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return f, errors.Join(err, f.remove())
		}
	}
	return f, nil
}

func (f folders) remove() error {
	var errs []error
	for _, d := range []string{f.root, f.shared} {
		if d != "" {
			errs = append(errs, os.RemoveAll(d))
		}
	}
	return errors.Join(errs...)
}

// logsKept is how many lives' messages are kept: those of the failed one and what led to it.
const logsKept = 8

func (f folders) log(life int) string { return filepath.Join(f.logs, fmt.Sprintf("life-%d.log", life)) }
