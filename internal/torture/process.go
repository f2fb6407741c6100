package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hearthdb/hearth"
)

// message is what a child told, or, with err, that it tells no more.
type message struct {
	kind byte
	body []byte
	err  error
}

// process is a living child.
type process struct {
	cmd      *exec.Cmd
	stdin    io.Closer
	messages chan message
	log      string
}

// messagesAhead bounds what the parent has heard and not looked at yet: some MB.
const messagesAhead = 64

func startChild(ctx context.Context, cfg Config, o order, log string) (*process, error) {
	stderr, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd := cfg.Child(ctx)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the parent
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a child: %w", err)
	}
	p := &process{cmd: cmd, stdin: stdin, messages: make(chan message, messagesAhead), log: log}
	go func() {
		defer close(p.messages)
		for r := bufio.NewReaderSize(stdout, 1<<16); ; {
			kind, body, err := hear(r)
			p.messages <- message{kind, body, err}
			if err != nil {
				return
			}
		}
	}()
	if err := json.NewEncoder(stdin).Encode(o); err != nil {
		p.kill()
		return nil, fmt.Errorf("order to a child: %w", err)
	}
	return p, nil
}

// kill sends SIGKILL, and waits until the child is gone and everything it told is read.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.reap()
}

func (p *process) reap() {
	for range p.messages {
	}
	p.stdin.Close()
	p.cmd.Wait() // its error says that it was killed, or what failed, which it told
}

// dump makes a child that hangs write all its stacks to its log.
func (p *process) dump() {
	p.cmd.Process.Signal(syscall.SIGQUIT)
	time.AfterFunc(dumpTime, func() { p.cmd.Process.Kill() })
	p.reap()
}

// dumpTime is how long writing the stacks may take.
const dumpTime = 10 * time.Second

// patience is how long a child may go without telling anything that it should: a start with redo of the whole log and
// reading all rows took some 100 ms when this was written.
const patience = 2 * time.Minute

// errChild: a child failed or died of itself.
var errChild = errors.New("a child failed")

// found is what a child told of its start.
type found struct {
	opened    bool
	report    hearth.StartReport
	openTook  time.Duration
	tellTook  time.Duration
	closeTook time.Duration
	rows      *gathered // nil: it did not get through
	checked   bool
	problems  []string
	closed    bool
}

// take notes a message.
func (f *found) take(m message, began time.Time) error {
	switch m.kind {
	case toldOpen:
		f.opened, f.openTook = true, time.Since(began)
		return json.Unmarshal(m.body, &f.report)
	case toldCheck:
		f.checked = true
		return json.Unmarshal(m.body, &f.problems)
	case toldClosed:
		f.closed, f.closeTook = true, time.Since(began)
	case toldFailure:
		return fmt.Errorf("%w: %s", errChild, m.body)
	}
	return nil
}

// live lets a child live the life it is meant to, and ends it.
func live(ctx context.Context, cfg Config, x fate, usual pace, log string) (f found, err error) {
	p, err := startChild(ctx, cfg, x.order, log)
	if err != nil {
		return f, err
	}
	rows := newGathered()
	var (
		end     <-chan time.Time // the moment of death, once it is known
		tooLong = time.NewTimer(patience)
		began   = time.Now() // the part of the life under way
		closing bool
	)
	defer tooLong.Stop()
	dieIn := func(d time.Duration) { end = time.After(time.Duration(x.at * float64(d))) }
	if x.moment == momentStart {
		dieIn(usual.start)
	}
	for {
		select {
		case <-ctx.Done():
			p.kill()
			return f, ctx.Err()
		case <-tooLong.C:
			p.dump()
			return f, fmt.Errorf("%w: it told nothing new for %v; its stacks are in its log", errChild, patience)
		case <-end:
			if x.order.Ending == endKilled {
				p.kill()
				return f, nil
			}
			if closing {
				p.kill()
				return f, nil
			}
			p.stdin.Close()
			closing, end, began = true, nil, time.Now()
			tooLong.Reset(patience)
			if x.moment == momentClose {
				dieIn(usual.close)
			}
		case m := <-p.messages:
			if m.err != nil {
				p.reap()
				if f.closed {
					return f, nil
				}
				return f, fmt.Errorf("%w: it ended (%v)", errChild, p.cmd.ProcessState)
			}
			tooLong.Reset(patience)
			if err := f.take(m, began); err != nil {
				p.kill()
				return f, err
			}
			switch m.kind {
			case toldOpen:
				began = time.Now()
				if x.moment == momentTell {
					dieIn(usual.tell)
				}
			case toldTree:
				rows.begin(string(m.body))
			case toldRows:
				d := decoder{b: m.body}
				for len(d.b) > 0 && !d.bad {
					rows.add(d.row())
				}
				if d.bad {
					p.kill()
					return f, fmt.Errorf("%w: its rows cannot be read", errChild)
				}
			case toldDone:
				f.tellTook, f.rows = time.Since(began), rows
			case toldLoad:
				if x.moment == momentLoad || x.moment == momentClose {
					dieIn(cfg.LoadTime)
				}
			}
		}
	}
}

// pace is how long parts of a life usually take.
type pace struct{ start, tell, close time.Duration }

// learn follows what a life took, slowly.
func (p *pace) learn(f found) {
	follow := func(d *time.Duration, took time.Duration) { *d = (*d*3 + took) / 4 }
	if f.opened {
		follow(&p.start, f.openTook)
	}
	if f.rows != nil {
		follow(&p.tell, f.tellTook)
	}
	if f.closed {
		follow(&p.close, f.closeTook)
	}
}
