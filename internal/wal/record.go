package wal

import (
	"encoding/binary"
	"errors"
	"iter"

	"github.com/hearthdb/hearth/internal/page"
)

// A group's body is a row of records: page id u64, length of the edit uvarint, the edit.

// errRecords is what bytes are that AppendRecord never wrote. Behind a right checksum only our own bug makes them.
var errRecords = errors.New("records of a log group contradict themselves")

// AppendRecord appends one edit of one page to the body of a group.
func AppendRecord(body []byte, id page.ID, edit []byte) []byte {
	body = binary.LittleEndian.AppendUint64(body, uint64(id))
	body = binary.AppendUvarint(body, uint64(len(edit)))
	return append(body, edit...)
}

// NextRecord cuts the first record off a body that is not empty. The edit lives in the body.
func NextRecord(body []byte) (id page.ID, edit, rest []byte, err error) {
	if len(body) < 9 {
		return 0, nil, nil, errRecords
	}
	id = page.ID(binary.LittleEndian.Uint64(body))
	n, w := binary.Uvarint(body[8:])
	if w <= 0 || n > uint64(len(body)-8-w) {
		return 0, nil, nil, errRecords
	}
	body = body[8+w:]
	return id, body[:n:n], body[n:], nil
}

// Records yields the records of a body in order, and stops before the first that makes no sense. See CheckRecords.
func Records(body []byte) iter.Seq2[page.ID, []byte] {
	return func(yield func(page.ID, []byte) bool) {
		for len(body) > 0 {
			id, edit, rest, err := NextRecord(body)
			if err != nil || !yield(id, edit) {
				return
			}
			body = rest
		}
	}
}

// CheckRecords says whether Records yields all of a body.
func CheckRecords(body []byte) error {
	for len(body) > 0 {
		_, _, rest, err := NextRecord(body)
		if err != nil {
			return err
		}
		body = rest
	}
	return nil
}
