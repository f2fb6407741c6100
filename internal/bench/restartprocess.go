package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
)

// restartOrder is the first line that a child reads from its standard input. Commands follow, a line each.
type restartOrder struct {
	Dir, Memory string
	Pool        int64
	Rows        int
	Fill        bool   // make the database, tell Ready and wait for a command
	WarmAll     bool   // read all pages before Ready
	Prewarm     string // a Memory constant: what the start does about warmth
	Spread      string
	Readers     int
	Rate        float64
	Patience    time.Duration
	Seed        uint64
}

// Commands.
const (
	commandDump = "dump" // write the heat dump, tell Dumped
	commandStop = "stop" // end in order
)

// restartTold is a line that a child writes.
type restartTold struct {
	Progress string        `json:",omitempty"`
	Ready    bool          `json:",omitempty"`
	Dumped   bool          `json:",omitempty"`
	Pages    int64         `json:",omitempty"` // of the table, with Ready after Fill
	First    int64         `json:",omitempty"` // nanoseconds since 1970: the first read was answered
	Report   string        `json:",omitempty"` // with First: the start report on one line
	Tick     *restart.Tick `json:",omitempty"`
}

// restartProcess is a running child.
type restartProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	told chan restartTold // closed when the child says nothing more
	tick func(restart.Tick)
	out  Output
}

// start starts a child; held puts it into the cage, if there is one, before it does anything.
func (r *restarts) start(ctx context.Context, order restartOrder, held bool) (*restartProcess, error) {
	cmd := r.cfg.Child(ctx)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the parent
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process to restart: %w", err)
	}
	p := &restartProcess{cmd: cmd, in: in, told: make(chan restartTold), tick: func(restart.Tick) {}, out: r.out}
	if held && r.cage != nil {
		if err := r.cage.Enter(cmd.Process.Pid); err != nil {
			p.end()
			return nil, fmt.Errorf("hold the disk back: %w", err)
		}
	}
	go p.read(stdout)
	if err := json.NewEncoder(in).Encode(order); err != nil {
		p.end()
		return nil, fmt.Errorf("order to a process: %w", err)
	}
	return p, nil
}

func (p *restartProcess) read(stdout io.Reader) {
	defer close(p.told)
	for dec := json.NewDecoder(bufio.NewReader(stdout)); ; {
		var t restartTold
		if dec.Decode(&t) != nil { // the end, or a line cut by a kill
			return
		}
		p.told <- t
	}
}

// wait listens until the child tells what is waited for.
func (p *restartProcess) wait(ctx context.Context, until func(restartTold) bool) (restartTold, error) {
	for {
		select {
		case <-ctx.Done():
			return restartTold{}, ctx.Err()
		case t, ok := <-p.told:
			if !ok {
				return t, fmt.Errorf("the process ended by itself")
			}
			p.note(t)
			if until(t) {
				return t, nil
			}
		}
	}
}

// listen takes ticks for a while.
func (p *restartProcess) listen(ctx context.Context, d time.Duration) error {
	end := time.After(d)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case t, ok := <-p.told:
			if !ok {
				return fmt.Errorf("the process ended by itself")
			}
			p.note(t)
		}
	}
}

// forget listens without taking the ticks.
func (p *restartProcess) forget(ctx context.Context, d time.Duration) error {
	tick := p.tick
	p.tick = func(restart.Tick) {}
	defer func() { p.tick = tick }()
	return p.listen(ctx, d)
}

func (p *restartProcess) note(t restartTold) {
	switch {
	case t.Progress != "":
		p.out.Progress("restart: %s", t.Progress)
	case t.Tick != nil:
		p.tick(*t.Tick)
	}
}

func (p *restartProcess) command(c string) error {
	_, err := io.WriteString(p.in, c+"\n")
	return err
}

// stop ends the child and waits until it is gone. What it still tells counts.
func (p *restartProcess) stop(ctx context.Context, how string) error {
	if how == StopKill {
		if err := p.cmd.Process.Kill(); err != nil {
			return err
		}
	} else if err := p.command(commandStop); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case t, ok := <-p.told:
			if ok {
				p.note(t)
				continue
			}
		}
		break
	}
	err := p.cmd.Wait()
	if how == StopKill {
		return nil // err says that it was killed
	}
	return err
}

// end makes sure that the child is gone.
func (p *restartProcess) end() {
	p.in.Close()
	if p.cmd.ProcessState != nil {
		return
	}
	p.cmd.Process.Kill()
	for range p.told { // lets the reader end
	}
	p.cmd.Wait()
}
