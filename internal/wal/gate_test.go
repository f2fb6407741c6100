package wal

import (
	"testing"

	"github.com/hearthdb/hearth/internal/page"
)

// TestGateForgetsNobody: who joins while a batch flies, for a position beyond where it goes, is still wanted when it has landed.
func TestGateForgetsNobody(t *testing.T) {
	var g gate
	g.init(0)
	g.ask(10)
	if to := g.launch(func() page.LSN { return 10 }); to != 10 {
		t.Fatalf("launched to %d, want 10", to)
	}
	b, err := g.join(15)
	if b == nil || err != nil {
		t.Fatalf("join: %v %v", b, err)
	}
	g.ask(15)
	g.release()
	select {
	case <-b.done:
		if g.at() < 15 {
			t.Fatal("woken before its position is through")
		}
	default:
		if !g.wanted() {
			t.Fatalf("the gate is at %d, somebody waits for 15, and nobody is asked to begin", g.at())
		}
	}
	g.launch(func() page.LSN { return 15 })
	g.release()
	<-b.done
}
