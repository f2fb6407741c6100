package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// AttachConfig says what is in memory and in the log when the process is killed, and how
// the starts after it are measured.
type AttachConfig struct {
	Dir   string
	Pools []int64 // bytes; with more than one, what a larger pool costs is reported
	Dirty int     // frames changed and not written back
	Log   int64   // bytes written since the checkpoint
	Runs  int     // kills and starts with each pool
	Seed  uint64

	// Picture, when given, is the path, without an extension, of the pictures of the first answers.
	Picture string

	// Child starts this program again so that it calls AttachChild and nothing else.
	Child func(context.Context) *exec.Cmd
}

// Attach fills a database, kills its process with SIGKILL, and measures how long the next
// process takes to answer. All of them are killed while they write, so that each start
// finds log in memory that no file has, and a transaction in its middle.
func Attach(ctx context.Context, cfg AttachConfig, out Output) error {
	if err := drawableAt(cfg.Picture); err != nil {
		return err
	}
	var pools []attachedPool
	for _, pool := range cfg.Pools {
		m, err := attachPool(ctx, cfg, pool, out)
		if err != nil {
			return err
		}
		pools = append(pools, m)
	}
	if last := len(pools) - 1; last > 0 {
		more := float64(cfg.Pools[last]-cfg.Pools[0]) / (10 << 30)
		out.Result(NewResult(attachMeasure, ours, "more-per-10-GiB", 1, "ms", []float64{(pools[last].medianMs - pools[0].medianMs) / more}))
	}
	if cfg.Picture == "" {
		return nil
	}
	return attachBars(pools).Save(cfg.Picture)
}

const (
	attachMeasure = "attach"
	// attachWrites is how long a process that has told what was asked goes on writing.
	attachWrites = 500 * time.Millisecond
)

func attachPool(ctx context.Context, cfg AttachConfig, pool int64, out Output) (m attachedPool, err error) {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return m, err
	}
	defer remove()
	memory, err := MemoryDir()
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(memory)
	order := attachOrder{
		Dir: filepath.Join(dir, "db"), Memory: memory, Pool: pool,
		Fill: true, Dirty: cfg.Dirty, Log: cfg.Log, Seed: cfg.Seed,
	}

	out.Progress("attach: filling a pool of %d MiB", pool>>20)
	filled, err := killedChild(ctx, cfg, order, out)
	if err != nil {
		return m, err
	}
	order.Fill = false
	var opens, firsts []float64
	for n := range cfg.Runs {
		found, err := killedChild(ctx, cfg, order, out)
		if err != nil {
			return m, err
		}
		opens, firsts = append(opens, found.OpenMs), append(firsts, found.FirstMs)
		out.Progress("attach after kill -9, pool of %d MiB: run %d of %d, first answer after %.0f ms; %s", pool>>20, n+1, cfg.Runs, found.FirstMs, found.Start)
	}

	of := func(name string) string { return fmt.Sprintf("%s, pool %d MiB", name, pool>>20) }
	res := NewResult(attachMeasure, ours, of("first-read"), 1, "ms", firsts)
	out.Result(res)
	out.Result(NewResult(attachMeasure, ours, of("open"), 1, "ms", opens))
	out.Result(NewResult(attachMeasure, ours, of("dirty frames"), 1, "pages", []float64{float64(filled.Dirty)}))
	out.Result(NewResult(attachMeasure, ours, of("log since checkpoint"), 1, "MiB", []float64{float64(filled.Log) / (1 << 20)}))
	out.Result(NewResult(attachMeasure, ours, of("memory beyond the region"), 1, "MiB", []float64{float64(filled.Anonymous) / (1 << 20)}))
	return attachedPool{bytes: pool, dirty: filled.Dirty, log: filled.Log, firstMs: firsts, medianMs: res.Value}, nil
}

// attachOrder is what a child reads from its standard input.
type attachOrder struct {
	Dir, Memory string
	Pool        int64
	Fill        bool // make the database and the dirt; otherwise only open and read
	Dirty       int
	Log         int64
	Seed        uint64
	Started     int64 // nanoseconds since 1970, just before the child was started
}

// attachFound is what it writes: progress, and one last message with Ready set.
type attachFound struct {
	Progress        string `json:",omitempty"`
	Ready           bool
	Start           string  `json:",omitempty"` // the start report on one line
	OpenMs, FirstMs float64 // since the process was started
	Dirty           int
	Log, Anonymous  int64 // bytes
}

// killedChild starts a child, waits for its last message and kills it with SIGKILL.
func killedChild(ctx context.Context, cfg AttachConfig, order attachOrder, out Output) (found attachFound, err error) {
	cmd := cfg.Child(ctx)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return found, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return found, err
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the parent
	order.Started = time.Now().UnixNano()
	if err := cmd.Start(); err != nil {
		return found, fmt.Errorf("start a process to kill: %w", err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait() // says that it was killed
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	// The pipe stays open: a child whose input ends knows that its parent is gone.
	if err := json.NewEncoder(stdin).Encode(order); err != nil {
		return found, fmt.Errorf("order to a process: %w", err)
	}
	for dec := json.NewDecoder(bufio.NewReader(stdout)); ; {
		found = attachFound{}
		if err := dec.Decode(&found); err != nil {
			return found, fmt.Errorf("the process ended before it was killed: %w", err)
		}
		if found.Ready {
			return found, after(attachWrites)(ctx)
		}
		out.Progress("attach: %s", found.Progress)
	}
}

// AttachChild is the process that Attach kills. It returns only when it fails, or when
// the process that started it is gone.
func AttachChild(ctx context.Context, in io.Reader, to io.Writer) error {
	var order attachOrder
	dec := json.NewDecoder(in)
	if err := dec.Decode(&order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		io.Copy(io.Discard, in)
		cancel(errors.New("not killed: the parent is gone"))
	}()
	tell := json.NewEncoder(to)
	work := probeAttach
	if order.Fill {
		work = fillForAttach
	}
	w, err := work(ctx, order, func(f attachFound) { tell.Encode(f) })
	for err == nil {
		err = w.write(ctx)
	}
	return err
}
