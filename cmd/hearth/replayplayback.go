package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// playbackFlags are those of Percona Playback, by whether a value follows.
var playbackFlags = map[string]bool{
	"db-plugin": true, "db_plugin": true, "input-plugin": true, "dispatcher-plugin": true, "queue-depth": true, "session-init-query": true,
	"disable-reporting-plugin": true, "report-plugin": true, "loop": true, "verbose": false,
	"mysql-host": true, "mysql-port": true, "mysql-username": true, "mysql-password": true, "mysql-schema": true, "mysql-socket": true,
	"mysql-max-retries": true, "mysql-filter-error": true, "mysql-test-connect": true,
	"query-log-file": true, "query-log-stdin": false, "query-log-set-timestamp": false, "query-log-preserve-query-time": false,
	"query-log-accurate-mode": false, "query-log-disable-sorting": false, "thread-pool-threads-count": true,
	"show-per-connection-query-count": false, "ignore-row-result-diffs": false, "general-log-file": true,
}

// isPlayback: the command line is one of Percona Playback, by the name of the program or by its flags.
func isPlayback(program string, args []string) ([]string, bool) {
	switch filepath.Base(program) {
	case "percona-playback", "query-playback":
		return args, true
	}
	if len(args) == 0 || args[0] != "replay" {
		return nil, false
	}
	for _, a := range args[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if _, old := playbackFlags[name]; old && strings.HasPrefix(a, "--") {
			return args[1:], true
		}
	}
	return nil, false
}

// fromPlayback translates it into ours, and says what is done in another way. Flags of ours among them stay.
func fromPlayback(args []string) (ours, notes []string) {
	old, rest := readPlayback(args)
	get := func(name, otherwise string) string {
		if v, ok := old[name]; ok && v != "" {
			return v
		}
		return otherwise
	}
	ours = []string{"replay", "run"}
	address := "tcp(" + net.JoinHostPort(get("mysql-host", "127.0.0.1"), get("mysql-port", "3306")) + ")"
	if s := get("mysql-socket", ""); s != "" {
		address = "unix(" + s + ")"
	}
	account := get("mysql-username", "root")
	if p := get("mysql-password", ""); p != "" {
		account += ":" + p
	}
	ours = append(ours, "--to="+account+"@"+address+"/"+get("mysql-schema", ""))
	switch file := get("query-log-file", get("general-log-file", "")); {
	case file != "":
		ours = append(ours, "--from="+file)
	default:
		ours = append(ours, "--from=-")
	}
	if get("input-plugin", "query-log") == "general-log" {
		ours = append(ours, "--input=general")
	}
	if get("db-plugin", get("db_plugin", "")) == "null" {
		ours = append(ours, "--dry-run")
	}
	if n := get("thread-pool-threads-count", ""); n != "" {
		ours = append(ours, "--connections="+n)
	}
	for _, paced := range []string{"query-log-accurate-mode", "query-log-preserve-query-time"} {
		if v, ok := old[paced]; ok && v != "off" && v != "0" {
			ours = append(ours, "--pace=original")
			break
		}
	}
	if sql := get("session-init-query", ""); sql != "" {
		if strings.Contains(strings.ToLower(sql), "innodb_fake_changes") {
			ours = append(ours, "--writes=fake")
		} else {
			ours = append(ours, "--session-init="+sql)
		}
	}
	ours = append(ours, "--allow-writing-account")
	notes = append(notes, "this is the command line of Percona Playback: sessions are read-only whatever the account may do; the target must be read_only (add --allow-writable if it is not)")
	for name, instead := range map[string]string{
		"queue-depth":       "the queue is bounded in bytes and age, see --queue-size and --queue-policy",
		"mysql-max-retries": "only lost connections are tried again, three times",
	} {
		if _, given := old[name]; given {
			notes = append(notes, fmt.Sprintf("--%s has no effect: %s", name, instead))
		}
	}
	return append(ours, rest...), notes
}

// readPlayback takes the old flags out of a command line. A value that was quoted for one shell too many ("set and x=1" as
// two words) is put together again; a flag whose value is missing has none.
func readPlayback(args []string) (old map[string]string, rest []string) {
	old = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		takes, isOld := playbackFlags[name]
		if !isOld || !strings.HasPrefix(args[i], "--") {
			rest = append(rest, args[i])
			continue
		}
		if !given && takes && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			value = args[i]
		}
		for _, q := range []string{`"`, `'`, `\"`} {
			if !strings.HasPrefix(value, q) {
				continue
			}
			for (len(value) < 2*len(q) || !strings.HasSuffix(value, q)) && i+1 < len(args) {
				i++
				value += " " + args[i]
			}
			value = strings.TrimSuffix(strings.TrimPrefix(value, q), q)
			break
		}
		old[name] = value
	}
	return old, rest
}
