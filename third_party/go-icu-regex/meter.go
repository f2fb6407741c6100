package regex

import (
	"context"
	"math"
)

const (
	stepStates    = 10_000 // saved states in a step of the time limit
	workPerState  = 200    // instructions, or characters of a loop, that weigh as much as a saved state
	statesPerByte = 16     // free for each byte of the text: work that grows as the text does is no catastrophe
	workPerByte   = 64     //
)

// meter bounds what a search may do. It counts instead of looking at a clock, so the same search ends the same way on any machine.
type meter struct {
	ctx                    context.Context
	states, work           int64 // until refill is asked
	statesLater, workLater int64 // to refill from
	err                    error // once there is one, the search ends
}

func (m *meter) start(ctx context.Context, textBytes int) {
	m.ctx = ctx
	m.statesLater, m.workLater = math.MaxInt64, math.MaxInt64
	if steps := timeLimit.Load(); steps > 0 && steps < math.MaxInt64/stepStates/workPerState/2 {
		m.statesLater = steps*stepStates + statesPerByte*int64(textBytes)
		m.workLater = steps*stepStates*workPerState + workPerByte*int64(textBytes)
	}
}

func (m *meter) payState() {
	if m.states--; m.states < 0 {
		m.refill()
	}
}

func (m *meter) pay(work int64) {
	if m.work -= work; m.work < 0 {
		m.refill()
	}
}

// refill goes on for another step, unless all steps are used or the statement was interrupted.
func (m *meter) refill() {
	if m.err != nil {
		return
	}
	if err := m.ctx.Err(); err != nil {
		m.err = err
		return
	}
	for _, of := range []struct {
		now, later *int64
		step       int64
	}{{&m.states, &m.statesLater, stepStates}, {&m.work, &m.workLater, stepStates * workPerState}} {
		if *of.now >= 0 {
			continue
		}
		step := min(max(of.step, -*of.now), *of.later)
		*of.now += step
		if *of.later -= step; *of.now < 0 {
			m.err = ErrTimeout.New()
		}
	}
}
