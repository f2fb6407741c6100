package server

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hearthdb/hearth"
)

// openError says in one line what keeps the database from opening, and what to do.
func openError(c *Config, err error) error {
	switch {
	case errors.Is(err, hearth.ErrMemoryInUse):
		return fmt.Errorf("the memory of %s in %s is in use: a copy of this database runs on this machine; give one of them its own --memory-dir: %w",
			c.Data, memoryDir(c), err)
	case errors.Is(err, hearth.ErrInUse):
		return fmt.Errorf("%s is in use: another process has the database open; stop it first", c.Data)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s is on a file system that is mounted read-only; mount it for writing, or choose another directory with --data", c.Data)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("no permission for %s: run the server as its owner, or choose another directory with --data: %w", c.Data, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("no space left for the database: make room on the disk of %s and in %s (which needs about %d MiB): %w",
			c.Data, memoryDir(c), c.Engine.PoolSize>>20, err)
	}
	return err
}

func memoryDir(c *Config) string {
	if c.Engine.MemoryDir != "" {
		return c.Engine.MemoryDir
	}
	return hearth.DefaultMemoryDir
}
