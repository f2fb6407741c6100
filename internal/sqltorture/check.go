package sqltorture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// clean is the last line of a check that found nothing.
const clean = "check=clean"

// check has the program prove the database sound while no server runs: pages, definitions, rows and indexes. It recovers the database if
// it has to, as a start does.
func (r *run) check(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, r.cfg.Binary, "check", "--data="+filepath.Join(r.dir.server, "data"), "--memory-dir="+r.dir.memory)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err == nil && lines[len(lines)-1] == clean {
		r.verdict.Checks++
		return nil
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || out.Len() == 0 {
		return fmt.Errorf("offline check: %w: %s", err, strings.TrimSpace(said.String()))
	}
	r.verdict.Checks++
	r.verdict.Problems = append(r.verdict.Problems, lines...)
	return nil
}
