package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/replay"
)

// replayCompareVerb holds two dumps of pools against each other.
type replayCompareVerb struct {
	Primary string `arg:"" type:"existingfile" help:"Dump of the primary's pool: InnoDB's ib_buffer_pool, or a heat dump of hearth."`
	Standby string `arg:"" type:"existingfile" help:"Dump of the standby's pool, of the same kind."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

func (v *replayCompareVerb) Run() error {
	primary, uuidA, err := readPool(v.Primary)
	if err != nil {
		return err
	}
	standby, uuidB, err := readPool(v.Standby)
	if err != nil {
		return err
	}
	if uuidA != uuidB {
		return fmt.Errorf("%s and %s are of different databases: pages are known by their numbers, so only copies of one can be compared", v.Primary, v.Standby)
	}
	c := replay.Compare(primary, standby)
	if v.JSON {
		return json.NewEncoder(os.Stdout).Encode(c)
	}
	fmt.Printf("the standby holds %d of the primary's %d pages: %.1f %% (and %d others)\n", c.Both, c.Primary, 100*c.Share, c.Standby-c.Both)
	for _, s := range c.Spaces {
		fmt.Printf("  space %-10d %8d of %8d  %5.1f %%\n", s.Space, s.Both, s.Primary, 100*float64(s.Both)/float64(s.Primary))
	}
	return nil
}

// readPool reads a dump of either kind; the uuid of the database is empty for InnoDB's.
func readPool(name string) (set replay.PageSet, uuid string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if head, _ := in.Peek(len(heatMagic)); string(head) != heatMagic {
		set, err = replay.ReadPoolDump(in, name)
		return set, "", err
	}
	set = replay.PageSet{}
	uuid, err = heat.Pages(name, set.Add)
	return set, uuid, err
}

// heatMagic begins a heat dump.
const heatMagic = "HEARTHHD"
