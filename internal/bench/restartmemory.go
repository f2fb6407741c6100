package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// loseMemory makes of the machine's memory what a reboot does: regions in memoryDir are gone, and the files of data are in no cache of
// the system. Servers read their pages past that cache, but not all of them their logs and dumps. Either may be empty: there is none.
func loseMemory(memoryDir, data string) error {
	return errors.Join(removeRegions(memoryDir), dropCache(data))
}

// removeRegions removes what hearth keeps in memory.
func removeRegions(memoryDir string) error {
	if memoryDir == "" {
		return nil
	}
	regions, err := filepath.Glob(filepath.Join(memoryDir, "hearth-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range regions {
		errs = append(errs, os.RemoveAll(r))
	}
	return errors.Join(errs...)
}

// dropCache takes all files under dir out of the system's page cache. What is not on the disk yet is written first: only clean pages can
// be dropped. Nobody may have the files mapped.
func dropCache(dir string) error {
	if dir == "" {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return err
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return &os.PathError{Op: "fadvise", Path: path, Err: err}
		}
		return nil
	})
}
