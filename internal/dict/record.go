package dict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// dictionaryTree holds a JSON record under each of these keys. <id> is 16 hexadecimal digits, <name> the name in lower case.
//
//	format                     that there is a dictionary, and in what format
//	id                         ids up to this one may be taken
//	database/<id>              databaseRecord
//	table/<id>                 tableRecord
//	view/<db id>/<name>        viewRecord; likewise trigger/, procedure/, event/
//	variable/<name>            variableRecord
//	users                      usersRecord
//	name/<name>                idRecord: the database of that name. So that a name can be taken once only.
//	name/<db id>/<name>        idRecord: the table of that name; id 0: it is a view
const dictionaryTree = "sql.dict"

// format is the version of all records. A record of a newer one is refused: whoever wrote it knew something we do not.
const format = 1

const (
	formatKey = "format"
	idKey     = "id"
	usersKey  = "users"

	databasePrefix  = "database/"
	tablePrefix     = "table/"
	viewPrefix      = "view/"
	triggerPrefix   = "trigger/"
	procedurePrefix = "procedure/"
	eventPrefix     = "event/"
	variablePrefix  = "variable/"
	namePrefix      = "name/"
)

// MaxName is the longest name of a database, table, column, ..., in characters, as in MySQL.
const MaxName = 64

func databaseKey(id uint64) string       { return fmt.Sprintf("%s%016x", databasePrefix, id) }
func tableKey(id uint64) string          { return fmt.Sprintf("%s%016x", tablePrefix, id) }
func databaseNameKey(name string) string { return namePrefix + strings.ToLower(name) }

// inDatabase is the key of what is stored by name: prefix/<db id>/<name>.
func inDatabase(prefix string, database uint64, name string) string {
	return fmt.Sprintf("%s%016x/%s", prefix, database, strings.ToLower(name))
}

// versioned begins every record.
type versioned struct {
	Format int `json:"format"`
}

// errNewer is what to do about a record of the future.
func errNewer(got int) error {
	return fmt.Errorf("is of format %d, this version of hearth knows formats up to %d; "+
		"start the newer hearth again, or dump the data with it and load the dump here", got, format)
}

// encode makes the bytes of a record.
func encode(record any) []byte {
	b, err := json.Marshal(record)
	if err != nil {
		panic(fmt.Sprintf("BUG: record %+v: %v", record, err)) // they are made of strings, numbers, and times that were checked
	}
	return b
}

// decode reads a record. The error is a *RecordError.
func decode(key string, b []byte, record any) error {
	var v versioned
	if err := json.Unmarshal(b, &v); err != nil {
		return &RecordError{key, fmt.Errorf("is damaged: %w", err)}
	}
	switch {
	case v.Format > format:
		return &RecordError{key, errNewer(v.Format)}
	case v.Format < 1:
		return &RecordError{key, errors.New("is damaged: has no format")}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(record); err != nil {
		return &RecordError{key, fmt.Errorf("is damaged: %w", err)}
	}
	return nil
}
