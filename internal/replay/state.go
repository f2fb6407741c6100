package replay

import (
	"slices"
	"strings"
)

// State is what a session of the log had set, as far as it is harmless and we know it. It is comparable: two lanes in the
// same state share connections without a word to the server.
type State struct {
	Schema string // "" with Known: none; without: the connection's default
	Known  bool
	Modes  string // sql_mode, or "" for the target's own
	Names  string // argument of SET NAMES, or ""
	Unsafe bool   // its character set hides quotes and backslashes in other characters: only ASCII is sent
	Vars   string // other variables: "name=literal", one a line, sorted by name
}

// Mode of reading its statements, when the target's own sql_mode is base.
func (s State) Mode(base Mode) Mode {
	if s.Modes == "" {
		return base
	}
	return ModeOf(s.Modes)
}

// ModeOf a value of sql_mode.
func ModeOf(sqlMode string) (m Mode) {
	for _, name := range strings.Split(strings.ToUpper(sqlMode), ",") {
		switch strings.TrimSpace(name) {
		case "NO_BACKSLASH_ESCAPES":
			m.NoBackslashEscapes = true
		case "ANSI_QUOTES", "ANSI":
			m.AnsiQuotes = true
		}
	}
	return m
}

// sqlModes that a session of the log may ask for. ORACLE and its likes are another language.
var sqlModes = strings.Fields(`ALLOW_INVALID_DATES ANSI ANSI_QUOTES ERROR_FOR_DIVISION_BY_ZERO HIGH_NOT_PRECEDENCE IGNORE_SPACE
	NO_AUTO_CREATE_USER NO_AUTO_VALUE_ON_ZERO NO_BACKSLASH_ESCAPES NO_DIR_IN_CREATE NO_ENGINE_SUBSTITUTION NO_UNSIGNED_SUBTRACTION
	NO_ZERO_DATE NO_ZERO_IN_DATE ONLY_FULL_GROUP_BY PAD_CHAR_TO_FULL_LENGTH PIPES_AS_CONCAT REAL_AS_FLOAT STRICT_ALL_TABLES
	STRICT_TRANS_TABLES TIME_ROUND_FRACTIONAL TIME_TRUNCATE_FRACTIONAL TRADITIONAL SIMULTANEOUS_ASSIGNMENT`)

// charsets in which every byte below 0x80 is that ASCII character, wherever it stands.
var charsets = strings.Fields(`utf8 utf8mb3 utf8mb4 latin1 latin2 latin5 latin7 ascii binary cp1250 cp1251 cp1256 cp1257 cp850 cp852
	cp866 koi8r koi8u greek hebrew macroman macce dec8 keybcs2 tis620 ujis eucjpms gb2312 euckr default`)

// sessionVars besides sql_mode and the character set that a session may carry to the target, as plain literals.
var sessionVars = strings.Fields(`time_zone optimizer_switch group_concat_max_len character_set_results collation_connection
	div_precision_increment lc_time_names sql_big_selects`)

// assignment of one variable in a SET.
type assignment struct {
	name  string // in lower case; a user variable with its @
	value string // the literal as written; "" when it is none
	plain bool   // value is one literal
}

// parseSet reads what follows SET. global: it is about the server or the account, not about the session.
func parseSet(s []byte, toks []token) (list []assignment, global bool) {
	for len(toks) > 0 {
		end, depth := 0, 0
		for ; end < len(toks); end++ {
			if toks[end].kind != punct {
				continue
			}
			b := s[toks[end].start]
			if b == '(' {
				depth++
			} else if b == ')' {
				depth--
			} else if b == ',' && depth == 0 {
				break
			}
		}
		one := toks[:end]
		toks = toks[min(end+1, len(toks)):]
		a, g := parseAssignment(s, one)
		if g {
			return nil, true
		}
		if a.name != "" {
			list = append(list, a)
		}
	}
	return list, false
}

func parseAssignment(s []byte, t []token) (a assignment, global bool) {
	i := 0
	low := func(i int) string {
		if i >= len(t) {
			return ""
		}
		return strings.ToLower(string(s[t[i].start:t[i].end]))
	}
	user := false
	switch low(i) {
	case "global", "persist", "persist_only", "password", "role", "default", "statement", "resource", "instance", "master_key":
		return a, true
	case "session", "local":
		i++
		if low(i) == "transaction" {
			return a, false
		}
	case "transaction":
		return a, false
	case "names":
		return assignment{"names", literal(s, t[1:]), true}, false
	case "charset":
		return assignment{"names", literal(s, t[1:]), true}, false
	case "character":
		return assignment{"names", literal(s, t[min(2, len(t)):]), true}, false
	case "@@":
		i++
		switch low(i) {
		case "global", "persist", "persist_only":
			return a, true
		case "session", "local":
			i += 2 // and its dot
		}
	case "@":
		user = true
		i++
	}
	if i >= len(t) {
		return a, false
	}
	name := strings.ToLower(unquote(s, t[i]))
	if user {
		name = "@" + name
	}
	i++
	if op := low(i); op != "=" && op != ":=" {
		return a, false
	}
	v := literal(s, t[i+1:])
	return assignment{name, v, v != ""}, false
}

// literal is the text of tokens that are one plain value: a string, a number with or without sign, or a word.
func literal(s []byte, t []token) string {
	t = trimEnd(s, t)
	if len(t) == 2 && t[0].kind == punct && (s[t[0].start] == '-' || s[t[0].start] == '+') && t[1].kind == number {
		return string(s[t[0].start:t[1].end])
	}
	if len(t) == 0 || (t[0].kind != text && t[0].kind != number && t[0].kind != word) {
		return ""
	}
	if len(t) == 3 && isWord(s, t[1], "collate") {
		if a, b := literal(s, t[:1]), literal(s, t[2:]); a != "" && b != "" {
			return a + " collate " + b
		}
		return ""
	}
	if len(t) != 1 {
		return ""
	}
	// It will be written again, perhaps for a session in another mode: nothing in it may depend on one.
	v := string(s[t[0].start:t[0].end])
	if strings.ContainsAny(bare(v), "\\'\"`\n") {
		return ""
	}
	return v
}

// bare is a literal without its quotes.
func bare(v string) string {
	if len(v) >= 2 && (v[0] == '\'' || v[0] == '"') && v[len(v)-1] == v[0] {
		return v[1 : len(v)-1]
	}
	return v
}

// After is the state when a session statement (class Session) has run. ignored says why one changes nothing here.
func (s State) After(stmt []byte, m Mode) (after State, ignored string) {
	toks, err := lex(stmt, m, nil)
	toks = trimEnd(stmt, toks)
	if err != nil || len(toks) < 2 {
		return s, "not understood"
	}
	if isWord(stmt, toks[0], "use") {
		s.Schema, s.Known = unquote(stmt, toks[1]), true
		return s, ""
	}
	list, _ := parseSet(stmt, toks[1:])
	ignored = "not on the list"
	for _, a := range list {
		if !a.plain || a.value == "" {
			ignored = "value is no literal"
			continue
		}
		if s.set(a) {
			ignored = ""
		}
	}
	return s, ignored
}

// set takes one assignment over, if it is harmless.
func (s *State) set(a assignment) bool {
	switch {
	case a.name == "sql_mode":
		modes := strings.ToUpper(bare(a.value))
		if modes == "DEFAULT" {
			s.Modes = ""
			return true
		}
		for _, m := range strings.Split(modes, ",") {
			if m = strings.TrimSpace(m); m != "" && !slices.Contains(sqlModes, m) {
				return false
			}
		}
		if s.Modes = modes; modes == "" {
			s.Modes = "," // no mode at all; "" would be the target's own
		}
	case a.name == "names" || a.name == "character_set_client":
		charset, collation, collates := strings.Cut(strings.ToLower(a.value), "collate")
		charset = bare(strings.TrimSpace(charset))
		if !slices.Contains(charsets, charset) || (collates && !isPlainWord(bare(strings.TrimSpace(collation)))) {
			s.Unsafe, s.Names = true, ""
			return true
		}
		s.Unsafe, s.Names = false, charset
		if collates {
			s.Names += " collate " + bare(strings.TrimSpace(collation))
		}
		if charset == "default" {
			s.Names = ""
		}
	case slices.Contains(sessionVars, a.name):
		s.put(a.name, a.value)
	case strings.HasPrefix(a.name, "@") && isPlainWord(a.name[1:]):
		s.put(a.name, a.value)
	default:
		return false
	}
	return true
}

// maxVars bounds what is carried of one session, in bytes.
const maxVars = 4 << 10

func (s *State) put(name, value string) {
	lines := slices.DeleteFunc(strings.Split(s.Vars, "\n"), func(l string) bool {
		return l == "" || strings.HasPrefix(l, name+"=")
	})
	if len(s.Vars)+len(name)+len(value) > maxVars {
		return
	}
	lines = append(lines, name+"="+value)
	slices.Sort(lines)
	s.Vars = strings.Join(lines, "\n")
}

// isPlainWord: letters, digits and _ only, so that it needs no quotes anywhere.
func isPlainWord(w string) bool {
	for i := range len(w) {
		if c := w[i]; c >= 0x80 || c == '$' || !isWordByte(c) {
			return false
		}
	}
	return w != ""
}

// quoteName quotes an identifier.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// asciiOnly: no byte of the text is part of a character that an unsafe character set could mean.
func asciiOnly(s []byte) bool {
	for _, c := range s {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
