package heat

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// Description is what is in a dump, for people and their programs.
type Description struct {
	File   string             `json:"file"`
	UUID   string             `json:"uuid"`
	LSN    uint64             `json:"lsn"`
	At     time.Time          `json:"at"`
	Frames uint64             `json:"frames"` // of the pool it was made of
	Pages  uint64             `json:"pages"`
	Bytes  int64              `json:"bytes"` // of the pages
	Bands  []BandDescription  `json:"bands"` // from hot to cold
	Spaces []SpaceDescription `json:"spaces"`
}

// BandDescription is one band.
type BandDescription struct {
	Heat  uint32 `json:"heat"` // word of the coldest page it may hold
	Pages uint64 `json:"pages"`
}

// SpaceDescription is the pages of one space, that is of one tree.
type SpaceDescription struct {
	Space uint32   `json:"space"`
	Pages uint64   `json:"pages"`
	Bands []uint64 `json:"bands"` // of them, by band
}

// Describe reads the dump in a file. A dump that is not whole is an error.
func Describe(name string) (Description, error) {
	spaces := map[uint32]*SpaceDescription{}
	h, err := ReadFile(file.OS, name, func(band int, id page.ID) {
		s := spaces[id.Space()]
		if s == nil {
			s = &SpaceDescription{Space: id.Space()}
			spaces[id.Space()] = s
		}
		for len(s.Bands) <= band {
			s.Bands = append(s.Bands, 0)
		}
		s.Bands[band]++
		s.Pages++
	})
	if err != nil {
		return Description{}, err
	}
	d := Description{
		File: name, UUID: fmt.Sprintf("%x", h.UUID), LSN: uint64(h.LSN), At: h.At, Frames: h.Frames, Pages: h.Pages,
		Bytes: int64(h.Pages) * page.Size, Bands: []BandDescription{}, Spaces: []SpaceDescription{}, // in JSON never null
	}
	for _, b := range h.Bands {
		d.Bands = append(d.Bands, BandDescription(b))
	}
	for _, no := range slices.Sorted(maps.Keys(spaces)) {
		d.Spaces = append(d.Spaces, *spaces[no])
	}
	return d, nil
}
