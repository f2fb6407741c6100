package server

import (
	"context"
	"encoding/binary"
	"errors"
	"regexp"
	"strconv"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
	kinds "gopkg.in/src-d/go-errors.v1"
)

// Numbers of MySQL's errors that package mysql has no name for, or another.
const (
	erCantCreateFile     = 1004
	erDbDropExists       = 1008
	erOutOfSortMemory    = 1038
	erTooManyConnections = 1040
	erAccessDenied       = 1045
	erServerShutdown     = 1053
	erBadField           = 1054
	erUnknownThread      = 1094
	erKillDenied         = 1095
	erUnknown            = 1105
	erPacketTooLarge     = 1153
	erPacketOrder        = 1156
	erWarnDataOutOfRange = 1264
	erQueryInterrupted   = 1317
	erStackOverrun       = 1436
	erTooManyPrepared    = 1461
	erQueryTimeout       = 3024
	erSecureTransport    = 3159
	erNotAvailable       = 3168
	erClientTimeout      = 4031
	stateUnknown         = "HY000"
	stateLinkFailure     = "08S01"
	stateRefused         = "08004"
	stateSyntaxOrAccess  = "42000"
	stateInterrupted     = "70100"
	stateMemory          = "HY001"
)

var (
	errPacketTooLarge = sqlError(erPacketTooLarge, stateLinkFailure, "Got a packet bigger than 'max_allowed_packet' bytes")
	errPacketOrder    = sqlError(erPacketOrder, stateLinkFailure, "Got packets out of order")
	errClientTimeout  = sqlError(erClientTimeout, stateUnknown, "The client was disconnected by the server because of inactivity. "+
		"See wait_timeout and interactive_timeout for configuring this behavior.")
	errTLSRequired = sqlError(erSecureTransport, stateUnknown,
		"Connections using insecure transport are prohibited while --require_secure_transport=ON.")
	errTooManyConnections = sqlError(erTooManyConnections, stateRefused, "Too many connections")
	errShutdown           = sqlError(erServerShutdown, stateLinkFailure, "Server shutdown in progress")
	errInterrupted        = sqlError(erQueryInterrupted, stateInterrupted, "Query execution was interrupted")
	errTimeout            = sqlError(erQueryTimeout, stateUnknown, "Query execution was interrupted, maximum statement execution time exceeded")
	errEmptyQuery         = sqlError(mysql.EREmptyQuery, stateSyntaxOrAccess, "Query was empty")
	errClientGone         = sqlError(erQueryInterrupted, stateInterrupted, "The client has gone")
	errMemory             = sqlError(erOutOfSortMemory, stateMemory, "Out of sort memory, consider increasing server sort buffer size")
)

// sqlError is what a client is told. mysql.NewSQLError would take the text for a format.
func sqlError(number int, state, text string) *mysql.SQLError {
	return &mysql.SQLError{Num: number, State: state, Message: text}
}

// errPacket is the body of an ERR packet: 0xff, number (2), '#', SQLSTATE (5), text.
func errPacket(e *mysql.SQLError) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{mysql.ErrPacket}, uint16(e.Num))
	b = append(b, '#')
	b = append(b, e.State...)
	return append(b, e.Message...)
}

// place is where an error happened, for texts that name more than GMS's error does.
type place struct {
	text    string        // of the statement
	stmt    ast.Statement // nil if it could not be parsed
	db      string        // the session's
	columns gms.Schema    // of the table that is written, nil if it is not known
}

// toClient makes the error of a statement what MySQL would tell its client.
func toClient(err error, at place) *mysql.SQLError {
	var known *mysql.SQLError
	if errors.As(err, &known) {
		return withState(known)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errTimeout
	}
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if e := flattened(err.Error()); e != nil {
		return e
	}
	for e := err; e != nil; e = unwrap(e) {
		if dup, ok := e.(gms.UniqueKeyError); ok {
			return sqlError(mysql.ERDupEntry, "23000", dup.Error()) // its text is MySQL's
		}
	}
	for e := err; e != nil; e = unwrap(e) {
		for i := range errorTable {
			if r := &errorTable[i]; r.kind.Is(e) && (r.in == nil || r.in(at)) {
				return r.make(e, at)
			}
		}
	}
	text := err.Error()
	for i := range textTable {
		if r := &textTable[i]; strings.Contains(text, r.contains) {
			if r.text != "" {
				text = r.text
			}
			return sqlError(r.number, r.state, text)
		}
	}
	return withState(sqlError(gms.CastSQLError(err).Num, stateUnknown, text))
}

// flattened reads the text of an error of package mysql, which GMS puts into errors of its own.
func flattened(text string) *mysql.SQLError {
	m := flatError.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	number, _ := strconv.Atoi(m[2])
	return withState(sqlError(number, m[3], m[1]))
}

var flatError = regexp.MustCompile(`(?s)^(.*) \(errno ([0-9]+)\) \(sqlstate ([0-9A-Za-z]{5})\)$`)

// unwrap goes to the next error inside, also where GMS wraps without saying so.
func unwrap(err error) error {
	switch e := err.(type) {
	case gms.WrappedInsertError:
		return e.Cause
	case gms.WrappedTypeConversionError:
		return e.Err
	case *kinds.Error:
		return e.Cause()
	}
	return errors.Unwrap(err)
}

// withState completes an error that has no more than a number.
func withState(e *mysql.SQLError) *mysql.SQLError {
	number, state := e.Num, e.State
	if number <= 0 || number > 0xffff {
		number = erUnknown
	}
	if len(state) != 5 || state == stateUnknown {
		if state = sqlStates[number]; state == "" {
			state = stateUnknown
		}
	}
	if number == e.Num && state == e.State {
		return e
	}
	return sqlError(number, state, e.Message)
}

// sqlStates of numbers that come with HY000 from GMS.
var sqlStates = map[int]string{
	1022: "23000", 1044: "42000", 1045: "28000", 1046: "3D000", 1047: "08S01", 1048: "23000", 1049: "42000", 1050: "42S01", 1051: "42S02",
	1052: "23000", 1053: "08S01", 1054: "42S22", 1055: "42000", 1056: "42000", 1058: "21S01", 1059: "42000", 1060: "42S21", 1061: "42000",
	1062: "23000", 1063: "42000", 1064: "42000", 1065: "42000", 1066: "42000", 1067: "42000", 1068: "42000", 1069: "42000", 1070: "42000",
	1071: "42000", 1072: "42000", 1073: "42000", 1074: "42000", 1075: "42000", 1083: "42000", 1084: "42000", 1090: "42000", 1091: "42000",
	1101: "42000", 1102: "42000", 1103: "42000", 1104: "42000", 1106: "42000", 1107: "42000", 1109: "42S02", 1110: "42000", 1112: "42S21",
	1113: "42000", 1115: "42000", 1118: "42000", 1120: "42000", 1121: "42000", 1131: "42000", 1132: "42000", 1133: "42000", 1136: "21S01",
	1138: "22004", 1139: "42000", 1140: "42000", 1141: "42000", 1142: "42000", 1143: "42000", 1144: "42000", 1145: "42000", 1146: "42S02",
	1147: "42000", 1148: "42000", 1149: "42000", 1166: "42000", 1167: "42000", 1169: "23000", 1170: "42000", 1171: "42000", 1172: "42000",
	1173: "42000", 1176: "42000", 1177: "42000", 1178: "42000", 1179: "25000", 1203: "42000", 1211: "42000", 1213: "40001", 1216: "23000",
	1217: "23000", 1222: "21000", 1226: "42000", 1227: "42000", 1230: "42000", 1231: "42000", 1232: "42000", 1234: "42000", 1235: "42000",
	1239: "42000", 1241: "21000", 1242: "21000", 1247: "42S22", 1248: "42000", 1250: "42000", 1252: "42000", 1253: "42000", 1261: "01000",
	1262: "01000", 1263: "22004", 1264: "22003", 1265: "01000", 1280: "42000", 1281: "42000", 1286: "42000", 1292: "22007", 1303: "2F003",
	1304: "42000", 1305: "42000", 1308: "42000", 1309: "42000", 1310: "42000", 1313: "42000", 1317: "70100", 1318: "42000", 1319: "42000",
	1322: "42000", 1323: "42000", 1324: "42000", 1325: "24000", 1326: "24000", 1327: "42000", 1329: "02000", 1330: "42000", 1331: "42000",
	1332: "42000", 1333: "42000", 1335: "0A000", 1336: "0A000", 1337: "42000", 1338: "42000", 1339: "20000", 1365: "22012", 1367: "22007",
	1370: "42000", 1403: "42000", 1406: "22001", 1407: "42000", 1410: "42000", 1413: "42000", 1414: "42000", 1415: "0A000",
	1416: "22003", 1425: "42000", 1426: "42000", 1427: "42000", 1437: "42000", 1439: "42000", 1451: "23000", 1452: "23000", 1453: "42000",
	1458: "42000", 1460: "42000", 1461: "42000", 1463: "42000", 1582: "42000", 1583: "42000", 1584: "42000", 1586: "23000", 1630: "42000",
	1641: "42000", 1687: "42000", 1701: "42000", 1792: "25006", 3140: "22032", 3141: "22032", 3143: "42000", 3144: "22032", 3146: "22032",
}

// errorRow says what one kind of GMS's errors is to a client of MySQL.
type errorRow struct {
	kind   *kinds.Kind
	in     func(place) bool // nil: everywhere; else the row counts only there
	number int
	state  string
	text   string                                       // with {0}, {1}, ... for what the kind's text quotes; empty: GMS's own text
	say    func(parts []string, at place) (text string) // for texts that need more
}

func (r *errorRow) make(err error, at place) *mysql.SQLError {
	text := err.Error()
	if r.say != nil || r.text != "" {
		parts, ok := quoted(r.kind.Message, text)
		switch {
		case !ok:
		case r.say != nil:
			text = r.say(parts, at)
		default:
			text = fill(r.text, parts)
		}
	}
	return sqlError(r.number, r.state, text)
}

// fill puts parts into the holes {0} to {9} of a text.
func fill(text string, parts []string) string {
	pairs := make([]string, 0, 2*len(parts))
	for i, p := range parts {
		pairs = append(pairs, "{"+string(rune('0'+i))+"}", p)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// quoted finds what a text made from a format has in the places of the format's verbs.
func quoted(format, text string) (parts []string, ok bool) {
	literal, rest, more := nextVerb(format)
	if !strings.HasPrefix(text, literal) {
		return nil, false
	}
	text = text[len(literal):]
	for more != 0 {
		verb := more
		literal, rest, more = nextVerb(rest)
		end := len(text)
		switch {
		case literal != "":
			if end = strings.Index(text, literal); end < 0 {
				return nil, false
			}
		case more != 0:
			return nil, false
		}
		part := text[:end]
		if verb == 'q' {
			part = strings.Trim(part, `"`)
		}
		parts = append(parts, part)
		text = text[min(len(text), end+len(literal)):]
	}
	return parts, true
}

// nextVerb cuts a format at its first verb, 0 if there is none.
func nextVerb(format string) (literal, rest string, verb byte) {
	i := strings.IndexByte(format, '%')
	if i < 0 || i+1 >= len(format) {
		return format, "", 0
	}
	return format[:i], format[i+2:], format[i+1]
}
