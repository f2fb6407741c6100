package heat

import (
	"fmt"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// Pages tells every page of the dump in a file, as space and number, and returns the uuid of its database.
func Pages(name string, tell func(space, number uint32)) (uuid string, err error) {
	h, err := ReadFile(file.OS, name, func(_ int, id page.ID) { tell(id.Space(), id.No()) })
	return fmt.Sprintf("%x", h.UUID), err
}
