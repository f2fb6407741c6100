package region

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

// victimDir tells the test binary that it is the process to be killed, growerDir that it grows a pool and says how far it got.
const (
	victimDir = "HEARTH_REGION_VICTIM_DIR"
	growerDir = "HEARTH_REGION_GROWER_DIR"
)

// The victim resizes without end, so the sizes are odd on purpose: descriptors share pages at the border.
const (
	victimFewest = 100
	victimSpread = 3000
)

func victimConfig(dir string) Config {
	return Config{Dir: dir, UUID: [16]byte{0xdd}, RingBytes: RingUnit, Frames: victimFewest, Logger: slog.New(slog.DiscardHandler)}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		fmt.Fprintln(os.Stderr, victim(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(growerDir); dir != "" {
		fmt.Fprintln(os.Stderr, grower(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// victim lives short lives until it is killed. The first frames hold what fill puts there, or are being filled.
func victim(dir string) error {
	rnd := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for {
		cfg := victimConfig(dir)
		cfg.Frames += rnd.IntN(victimSpread)
		cfg.RingBytes = RingUnit * int64(1+rnd.IntN(3))
		if rnd.IntN(2) == 0 {
			cfg.FirstFrames = 1 + rnd.IntN(cfg.Frames)
		}
		r, found, err := Open(cfg)
		if err != nil {
			return err
		}
		nonce := rnd.Uint64()
		r.BeginAttach(nonce)
		if found.RingValid {
			if err := r.ResizeRing(cfg.RingBytes); err != nil {
				return err
			}
		}
		r.Ready(found.Incarnation+1, nonce)
		for n := range 20 {
			if err := victimStep(r, rnd, cfg, found.Durable+page.LSN(n)); err != nil {
				return err
			}
		}
		if rnd.IntN(10) == 0 {
			r.Discard(ReasonStaleIncarnation)
		}
		if rnd.IntN(10) == 0 {
			if err := r.Remove(); err != nil {
				return err
			}
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
}

func victimStep(r *Region, rnd *rand.Rand, cfg Config, durable page.LSN) error {
	for f := range min(victimFewest, r.Reserved()) {
		if r.Desc(f).Version.Load()&1 == 0 { // a former life may have left it odd
			fill(r, f)
		}
	}
	r.SetDurable(durable)
	return r.Resize(cfg.Frames + rnd.IntN(100))
}

// Killed at any moment, creation, Resize and Discard included: the next Open attaches to something right, or
// finds nothing, and gives back what was reserved and not counted.
func TestKill(t *testing.T) {
	dir := memoryDir(t)
	kills := 25
	if testing.Short() {
		kills = 5
	}
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var survived, fresh, torn int
	for n := range kills {
		killOne(t, dir, time.Duration(5+rnd.IntN(40))*time.Millisecond)
		r, found := openAfterKill(t, victimConfig(dir))
		if found.Why != "" && found.Why != ReasonUnfinished {
			t.Errorf("kill %d: found %+v: a kill must not look like damage", n, found)
		}
		if found.Fresh {
			fresh++
		} else {
			survived++
		}
		torn += checkAfterKill(t, r, found)
		if got, want := heldBytes(t, r), wantedBytes(r); isMemory(t, dir) && got != want {
			t.Errorf("kill %d: file holds %d bytes, want %d", n, got, want)
		}
		r.Ready(found.Incarnation, 1)
		mustClose(t, r)
	}
	t.Logf("%d kills: %d survived, %d fresh, %d torn descriptors", kills, survived, fresh, torn)
}

// killOne runs a victim and kills it after a while.
func killOne(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	cmd.Process.Kill()
	said, _ := io.ReadAll(stderr)
	cmd.Wait()
	if len(said) > 0 {
		t.Errorf("victim: %s", said)
	}
}

// openAfterKill waits for the lock of the dead.
func openAfterKill(t *testing.T, cfg Config) (*Region, Found) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		r, found, err := Open(cfg)
		if err == nil {
			return r, found
		}
		if !errors.Is(err, ErrInUse) {
			t.Fatal(err)
		}
	}
	t.Fatal("the lock outlives its process by a minute")
	return nil, Found{}
}

// checkAfterKill counts the torn descriptors.
func checkAfterKill(t *testing.T, r *Region, found Found) (torn int) {
	t.Helper()
	if !found.FramesValid {
		checkFree(t, r)
		return 0
	}
	for f := range r.Frames() {
		got := r.Desc(f).Examine(f)
		switch {
		case got.Condition == Torn:
			torn++
		case got.Condition == Whole && got.State == StateFree:
		case got.Condition == Whole && f < victimFewest:
			checkFilled(t, r, f)
		default:
			t.Errorf("frame %d: got %+v", f, got)
		}
	}
	return torn
}
