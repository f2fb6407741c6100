package region

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// growerChunks is how many chunks the grower reserves behind its first frames.
const (
	growerChunks = 6
	growerFirst  = 100
)

func growerConfig(dir string) Config {
	return Config{
		Dir: dir, UUID: [16]byte{0xee}, RingBytes: RingUnit, Frames: growerFirst + growerChunks*backgroundChunk, FirstFrames: growerFirst,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// grower uses the last frame of each chunk as soon as it is there, says how many frames are reserved, and waits for its end.
func grower(dir string) error {
	r, found, err := Open(growerConfig(dir))
	if err != nil {
		return err
	}
	r.BeginAttach(1)
	r.Ready(found.Incarnation+1, 1)
	for n := r.Reserved(); ; {
		if got := r.Desc(n - 1).Examine(n - 1); got.Condition == Torn || got.State == StateFree {
			r.describe(n-1, n) // the life before may have died while it filled it
			fill(r, n-1)
		}
		fmt.Println(n)
		if n == r.Frames() {
			select {}
		}
		if n, err = r.ReserveMore(); err != nil {
			return err
		}
	}
}

// Killed after each chunk, which is somewhere in the one behind it: the next life has all frames that were counted, with what was
// in them, goes on behind them, and nothing is reserved that is not counted.
func TestKillWhileGrowing(t *testing.T) {
	dir := memoryDir(t)
	cfg := growerConfig(dir)
	for chunk := range growerChunks + 1 {
		told := killGrower(t, dir, growerFirst+chunk*backgroundChunk)
		r, found := openAfterKill(t, cfg)
		if !found.FramesValid || found.Why != "" || found.OldFrames < told || r.Frames() != cfg.Frames {
			t.Fatalf("%d frames were reserved; found %+v, %d of %d reserved", told, found, r.Reserved(), r.Frames())
		}
		if got, want := heldBytes(t, r), wantedBytes(r); isMemory(t, dir) && got != want {
			t.Errorf("%d frames: file holds %d bytes, want %d", found.OldFrames, got, want)
		}
		for n := growerFirst; n <= told; n += backgroundChunk {
			checkFilled(t, r, n-1)
		}
		for f := found.OldFrames; f < r.Frames(); f++ {
			if got := r.Desc(f).Examine(f); got != (Finding{}) {
				t.Fatalf("frame %d of %d is %+v, want free", f, found.OldFrames, got)
			}
		}
		mustClose(t, r)
	}
}

// killGrower kills a grower once it has that many frames, and returns how many it told of.
func killGrower(t *testing.T, dir string, frames int) (told int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), growerDir+"="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if told, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if told >= frames {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if told < frames {
		t.Fatalf("the grower ended by itself with %d frames, want %d", told, frames)
	}
	return told
}
