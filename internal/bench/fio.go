package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth"
)

// errNoFio is told, not failed on: without fio there is just nothing to compare with.
var errNoFio = errors.New("fio is not installed (on Debian: apt-get install fio); measuring without the comparison")

// fioRandomReads asks fio how many random reads of 16 KiB per second the disk gives when
// depth of them are always under way, past the page cache, from an existing file.
func fioRandomReads(ctx context.Context, file string, depth int, d time.Duration) (readsPerSecond float64, err error) {
	return fioReadsOf(ctx, file, hearth.PageSize>>10, depth, d)
}

// fioReadsOf asks for reads of so many KiB.
func fioReadsOf(ctx context.Context, file string, kib, depth int, d time.Duration) (readsPerSecond float64, err error) {
	fio, err := exec.LookPath("fio")
	if err != nil {
		return 0, errNoFio
	}
	cmd := exec.CommandContext(ctx, fio,
		"--name=randread", "--filename="+file, "--readonly", "--rw=randread", fmt.Sprintf("--bs=%dk", kib),
		"--direct=1", "--ioengine=libaio", fmt.Sprintf("--iodepth=%d", depth),
		"--time_based", fmt.Sprintf("--runtime=%dms", d.Milliseconds()), "--output-format=json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("fio: %w: %s", err, stderr.Bytes())
	}
	return fioReads(stdout)
}

// fioReads takes the figure out of fio's report, before which it may print notes.
func fioReads(report []byte) (float64, error) {
	at := bytes.IndexByte(report, '{')
	if at < 0 {
		return 0, fmt.Errorf("fio: no report in %q", report)
	}
	var parsed struct {
		Jobs []struct {
			Read struct {
				IOPS float64 `json:"iops"`
			} `json:"read"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(report[at:], &parsed); err != nil {
		return 0, fmt.Errorf("fio: report: %w", err)
	}
	if len(parsed.Jobs) != 1 {
		return 0, fmt.Errorf("fio: report of %d jobs, want 1", len(parsed.Jobs))
	}
	return parsed.Jobs[0].Read.IOPS, nil
}

// largestFile in dir: of a database with one table that is the table.
func largestFile(dir string) (path string, err error) {
	var size int64
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			path, size = p, info.Size()
		}
		return err
	})
	if err == nil && path == "" {
		err = fmt.Errorf("no file in %s", dir)
	}
	return path, err
}
