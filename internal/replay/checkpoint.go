package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Checkpoint is a file that says where a replay goes on. Everything before the place was accounted for; of what comes behind
// it some statements may have been sent, and will be sent again: they only read.
type Checkpoint struct {
	From  string `json:"from"`
	Place Place  `json:"place"`
}

// LoadCheckpoint reads one; a file that is not there is a beginning.
func LoadCheckpoint(name, from string) (Place, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Place{}, nil
	}
	if err != nil {
		return Place{}, err
	}
	var c Checkpoint
	if err := json.Unmarshal(b, &c); err != nil {
		return Place{}, fmt.Errorf("the checkpoint %s is damaged: %w (remove it to begin anew)", name, err)
	}
	if c.From != from {
		return Place{}, fmt.Errorf("the checkpoint %s is of %s, not of %s (give each input a file of its own)", name, c.From, from)
	}
	return c.Place, nil
}

// SaveCheckpoint writes one, whole or not at all.
func SaveCheckpoint(name, from string, at Place) error {
	b, err := json.Marshal(Checkpoint{from, at})
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	if err := os.Rename(tmp, name); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	return nil
}
