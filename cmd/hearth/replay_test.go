package main

import (
	"slices"
	"strings"
	"testing"
)

// The command line of the founding document, as a shell gives it to us: the value of --mysql-host is missing there, and the
// quotes of the init query are escaped, so that it comes in two words.
func TestTheOldCommandLine(t *testing.T) {
	args := strings.Fields(`replay --mysql-host --mysql-username playback --mysql-password PaSSwOrd --mysql-schema schema_name --query-log-stdin ` +
		`--dispatcher-plugin thread-pool --thread-pool-threads-count 100 --session-init-query "set innodb_fake_changes=1"`)
	old, is := isPlayback("hearth", args)
	if !is {
		t.Fatal("it is not recognized")
	}
	ours, notes := fromPlayback(old)
	for _, want := range []string{"--to=playback:PaSSwOrd@tcp(127.0.0.1:3306)/schema_name", "--from=-", "--connections=100", "--writes=fake"} {
		if !slices.Contains(ours, want) {
			t.Errorf("%q has no %s", ours, want)
		}
	}
	if len(notes) == 0 {
		t.Error("nothing is said of what is different")
	}
	p := newParser()
	if _, err := p.Parse(ours); err != nil {
		t.Error(err)
	}
}

func TestOldFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--mysql-host=db2 --mysql-port 3307 --query-log-file=/var/log/slow.log --db-plugin=null", []string{"--to=root@tcp(db2:3307)/", "--from=/var/log/slow.log", "--dry-run"}},
		{"--mysql-socket /run/mysqld.sock --query-log-stdin --query-log-accurate-mode", []string{"--to=root@unix(/run/mysqld.sock)/", "--pace=original"}},
		{"--query-log-stdin --session-init-query=SET\u00a0sql_mode='' --allow-writable", []string{"--session-init=SET\u00a0sql_mode=''", "--allow-writable"}},
	} {
		got, _ := fromPlayback(strings.Fields(strings.ReplaceAll(c.args, "\u00a0", "_")))
		for _, w := range c.want {
			if !slices.Contains(got, strings.ReplaceAll(w, "\u00a0", "_")) {
				t.Errorf("%s: %q has no %s", c.args, got, w)
			}
		}
	}
	if _, is := isPlayback("hearth", []string{"replay", "--from=-", "--to=x"}); is {
		t.Error("our own flags are taken for the old ones")
	}
	if _, is := isPlayback("/usr/local/bin/percona-playback", nil); !is {
		t.Error("the old name of the program is not recognized")
	}
}
