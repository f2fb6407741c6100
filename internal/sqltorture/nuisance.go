package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// nuisance kills statements and connections of others, and pulls cables.
type nuisance struct {
	client
}

// between two nuisances, at most.
const between = 25 * time.Millisecond

func (n *nuisance) live(ctx context.Context) {
	for !n.over.Load() && ctx.Err() == nil {
		time.Sleep(time.Duration(n.rnd.Int64N(int64(between))))
		var err error
		if n.link == nil {
			err = n.connect(ctx)
		} else {
			err = n.disturb(ctx)
		}
		if errors.Is(err, errLost) && n.link != nil {
			n.link.close()
			n.link = nil
		}
	}
	if n.link != nil {
		n.link.close()
	}
}

func (n *nuisance) disturb(ctx context.Context) error {
	victim := n.targets.pick(n.rnd.IntN(2 * maxClients))
	if victim == nil || victim == n.link {
		return nil
	}
	verb := "KILL QUERY"
	switch p := n.rnd.IntN(100); {
	case p < 8:
		victim.cut()
		n.found.event("cables pulled")
		return nil
	case p < 14:
		verb = "KILL CONNECTION"
	}
	_, _, err := n.exec(ctx, []uint16{erNoThread}, fmt.Sprintf("%s %d", verb, victim.id))
	n.found.event(verb)
	return passOver(err)
}
