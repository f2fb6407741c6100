package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/bench"
)

// Which servers a command line asks for, and what is missing for another one.
func TestProfilesOfACommandLine(t *testing.T) {
	usual := []string{bench.ProfileHearthKept, bench.ProfileHearthDump, bench.ProfileInnoDBDump, bench.ProfileInnoDBCold}
	crash := bench.RestartFigures[bench.FigureCrash].Profiles
	dsn := []string{"--dsn", "root@unix(/s)/", "--start", "a", "--kill", "b"}
	for _, c := range []struct {
		args []string
		want []string
		err  string
	}{
		{nil, usual, ""},
		{[]string{"--figure", "crash"}, crash, ""},
		{[]string{"--profiles", "hearth-kept,myrocks"}, []string{"hearth-kept", "myrocks"}, ""},
		{dsn, []string{"other"}, ""},
		{append([]string{"--figure", "crash"}, dsn...), append(slices.Clone(crash), "other"), ""},
		{append([]string{"--profiles", "other,hearth-kept"}, dsn...), []string{"other", "hearth-kept"}, ""},
		{append([]string{"--profiles", "hearth-kept"}, dsn...), nil, "add the profile other"},
		{[]string{"--profiles", "other"}, nil, "--dsn is missing"},
		{[]string{"--start", "a"}, nil, "--dsn is missing"},
	} {
		t.Setenv("HEARTH_BENCH_DSN", "")
		parsed, err := newParser().Parse(append([]string{"bench", "restart"}, c.args...))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		v := parsed.Selected().Target.Addr().Interface().(*benchRestartVerb)
		got, err := v.profiles(bench.RestartFigures[v.Figure].Profiles)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: got %v, %v, want %v, %q", c.args, got, err, c.want, c.err)
		}
	}
}

// What is written down can be given to a shell again, but for passwords, which are not written down.
func TestQuoted(t *testing.T) {
	got := quoted([]string{
		"bench", "restart", "--dsn", "root:p:w@d@unix(/run/a b.sock)/", "--dsn=me:secret@tcp(h:3306)/x", "--start", "echo 'it''s' $HOME", "--size", "1GiB", "root@unix(/s)/",
	})
	want := `hearth bench restart --dsn 'root:***@unix(/run/a b.sock)/' '--dsn=me:***@tcp(h:3306)/x' --start 'echo '\''it'\'''\''s'\'' $HOME' ` +
		`--size 1GiB 'root@unix(/s)/'`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
