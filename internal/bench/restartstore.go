package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/peer"
)

// store keeps the data directories of loaded servers, so that each restart begins with the same bytes and nobody loads twice.
//
// A database is complete when its folder has the file storeMark, which is written last; a folder without it is removed and made again.
type store struct{ dir string }

const storeMark = "loaded.json"

// folder of a server's database.
func (st store) folder(cfg ServerRestartConfig, s *peer.Server) string {
	return filepath.Join(st.dir, fmt.Sprintf("%s-%s-%d-%d", s.Name, datasetOf(cfg.Cases[0].Workload).name, cfg.Bytes, cfg.Seed))
}

// load fills the server, unless the store has its database already.
func (st store) load(ctx context.Context, cfg ServerRestartConfig, p ServerProfile, s *peer.Server, out Output) error {
	folder := st.folder(cfg, s)
	if _, err := os.Stat(filepath.Join(folder, storeMark)); err == nil {
		out.Progress("%s: loaded before: %s", s.Name, folder)
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := loadServer(ctx, cfg, cfg.Cases[0].Workload, peerSubject(s), out); err != nil {
		return err
	}
	if err := s.Stop(); err != nil {
		return err
	}
	if p.Settle != nil {
		if err := p.Settle(ctx, s); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
	if err := copyTree(s.Data(), folder); err != nil {
		return err
	}
	if err := st.discard(s); err != nil {
		return err
	}
	mark, err := json.Marshal(map[string]any{
		"server": s.Name, "tables": datasetOf(cfg.Cases[0].Workload).name, "bytes": cfg.Bytes, "seed": cfg.Seed,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, storeMark), mark, 0o644)
}

// fetch gives the server a copy of its database, of which nothing is in the system's cache. Reads change nothing: one that was only
// read serves again.
func (st store) fetch(cfg ServerRestartConfig, s *peer.Server, out Output) error {
	if _, err := os.Stat(s.Data()); err == nil && cfg.readsOnly() {
		return dropCache(s.Data())
	}
	out.Progress("%s: copying %s", s.Name, cfg.size())
	if err := st.discard(s); err != nil {
		return err
	}
	if err := copyTree(st.folder(cfg, s), s.Data()); err != nil {
		return err
	}
	return dropCache(s.Data())
}

// release takes the copy back after a restart.
func (st store) release(cfg ServerRestartConfig, s *peer.Server) error {
	if cfg.readsOnly() {
		return nil
	}
	return st.discard(s)
}

// discard removes the server's database.
func (st store) discard(s *peer.Server) error { return os.RemoveAll(s.Data()) }

// copyTree copies files and folders, sharing blocks where the file system can, and returns when the disk has them: what is
// measured next does not pay for it.
func copyTree(from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type().IsRegular() && d.Name() != storeMark:
			return copyFile(path, target)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f, err := os.Open(to)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: to, Err: err}
	}
	return nil
}

// copyFile keeps holes as they are only where blocks are shared.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	_, err = out.ReadFrom(in)
	return err
}
