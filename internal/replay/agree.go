package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// agrees asks a second reader, vitess's parser, whether a text that was proved to read is a reading statement. What it
// cannot parse it has no opinion on: its grammar is smaller than the servers'. Its veto means that one of us misread.
func agrees(s []byte, m Mode) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = nil // it has given up on text it does not know
		}
	}()
	stmt, perr := sqlparser.ParseWithOptions(context.Background(), string(s), sqlparser.ParserOptions{AnsiQuotes: m.AnsiQuotes})
	if perr != nil {
		return nil
	}
	switch t := stmt.(type) {
	case *sqlparser.Select:
		if t.Into == nil {
			return nil
		}
	case *sqlparser.SetOp:
		if t.Into == nil {
			return nil
		}
	case *sqlparser.ParenSelect:
		return nil
	}
	return fmt.Errorf("vitess reads it as %s", strings.TrimPrefix(fmt.Sprintf("%T", stmt), "*sqlparser."))
}
