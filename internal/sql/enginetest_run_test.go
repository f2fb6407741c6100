package sql_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/hearthdb/hearth/internal/testbed"
)

// GMS's own suites run on our backend, each in a process of its own: so they run beside each other, a panic ends one
// suite only, and the names and verdicts of their subtests can be read. What fails must be listed in knownFailures with
// its reason, and what is listed must fail: the list can only shrink.
//
//	HEARTH_ENGINETEST_ALL=1 go test ./internal/sql -run TestEnginetest     runs the slow suites too, and writes the list anew

const (
	knownFailures = "testdata/enginetest/known-failures.txt"
	childSuite    = "HEARTH_ENGINETEST_SUITE"
	runAll        = "HEARTH_ENGINETEST_ALL"
	childTimeout  = 20 * time.Minute
)

// verdict of one case: a test of the suite that has no subtests of its own. A suite without any is one case, called whole.
type verdict struct {
	status string // PASS, FAIL or SKIP
	output string // what it printed, when it failed
}

func TestEnginetest(t *testing.T) {
	rewriting := os.Getenv(runAll) != ""
	known := readKnown(t)
	var mu sync.Mutex
	failures := map[string]map[string]string{} // suite → case → reason
	t.Run("suites", func(t *testing.T) {
		for _, s := range suites {
			t.Run(s.name, func(t *testing.T) {
				if testing.Short() && !slices.Contains(shortly, s.name) {
					t.Skip("not in -short")
				}
				t.Parallel()
				cases := runSuite(t, s.name)
				failed := judge(t, s.name, cases, known[s.name], rewriting)
				mu.Lock()
				defer mu.Unlock()
				failures[s.name] = failed
			})
		}
	})
	for name := range known {
		if !slices.ContainsFunc(suites, func(s suite) bool { return s.name == name }) {
			t.Errorf("%s lists cases of suite %q, which does not exist", knownFailures, name)
		}
	}
	if rewriting {
		writeKnown(t, known, failures)
	}
}

// judge compares the verdicts of a suite with the list. It returns what failed, with the reasons that are known.
func judge(t *testing.T, suite string, cases map[string]verdict, known map[string]string, rewriting bool) map[string]string {
	counts, failed := map[string]int{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		counts[c.status]++
		reason, listed := known[name]
		switch {
		case c.status == "FAIL":
			failed[name] = reason
			if !listed && !rewriting {
				t.Errorf("fails and is not listed: %s\n%s", name, c.output)
			}
		case listed && strings.HasPrefix(reason, skipMark):
			failed[name] = reason
		case listed && !rewriting:
			t.Errorf("is listed in %s and does not fail (%s): %s", knownFailures, c.status, name)
		}
	}
	for name := range known {
		if _, ran := cases[name]; !ran && !rewriting {
			t.Errorf("is listed in %s and was not run: %s", knownFailures, name)
		}
	}
	t.Logf("%d cases: %d pass, %d fail, %d skipped", len(cases), counts["PASS"], counts["FAIL"], counts["SKIP"])
	return failed
}

// runSuite runs a suite in a process of its own and returns the verdicts of its cases.
func runSuite(t *testing.T, name string) map[string]verdict {
	ctx, cancel := context.WithTimeout(t.Context(), childTimeout+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestEnginetestChild$", "-test.v=test2json",
		"-test.timeout="+childTimeout.String())
	cmd.Env = append(os.Environ(), childSuite+"="+name, "TMPDIR="+testbed.MemoryDir(t)) // they open thousands of databases, and a disk is slow to wait for
	out, err := cmd.CombinedOutput()
	cases := parseVerdicts(out)
	if len(cases) == 0 || err != nil && !failedOnly(out, err) {
		t.Fatalf("the suite did not run to its end: %v\n%s", err, tail(out, 8<<10))
	}
	return cases
}

// failedOnly: the process ended because cases failed, not by a panic or a signal.
func failedOnly(out []byte, err error) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && exit.ExitCode() == 1 && bytes.Contains(out, []byte(frameMark+"--- FAIL: TestEnginetestChild "))
}

// With -test.v=test2json the testing package begins each of its own lines with this byte, wherever they begin.
const frameMark = "\x16"

var frame = regexp.MustCompile(`^\s*(=== RUN |=== NAME|--- PASS:|--- FAIL:|--- SKIP:)\s+(\S+)`)

// parseVerdicts reads the verbose output of a test binary. Only cases without subtests count; they are named without
// the name of the child test.
func parseVerdicts(out []byte) map[string]verdict {
	all, outputs, inner := map[string]string{}, map[string]*strings.Builder{}, map[string]bool{}
	for i, part := range strings.Split(string(out), frameMark) {
		m := frame.FindStringSubmatch(part)
		if m == nil || i == 0 {
			continue
		}
		name, ok := strings.CutPrefix(m[2], "TestEnginetestChild/")
		if m[2] == "TestEnginetestChild" {
			name, ok = whole, true
		}
		if !ok {
			continue
		}
		if status := strings.TrimSuffix(strings.TrimPrefix(m[1], "--- "), ":"); strings.HasPrefix(m[1], "---") {
			all[name] = status
			for up := parent(name); up != ""; up = parent(up) {
				inner[up] = true
			}
		} else if _, text, more := strings.Cut(part, "\n"); more {
			if outputs[name] == nil {
				outputs[name] = new(strings.Builder)
			}
			outputs[name].WriteString(text)
		}
	}
	inner[whole] = len(all) > 1
	cases := map[string]verdict{}
	for name, status := range all {
		if inner[name] && !(status == "FAIL" && failedAlone(name, all)) {
			continue
		}
		v := verdict{status: status}
		if o := outputs[name]; o != nil && status == "FAIL" {
			v.output = string(tail([]byte(o.String()), 4<<10))
		}
		cases[name] = v
	}
	return cases
}

// whole is the name of a suite as a case.
const whole = "."

// failedAlone: no subtest of name failed, so that the failure is its own.
func failedAlone(name string, all map[string]string) bool {
	for sub, status := range all {
		if status == "FAIL" && sub != name && (name == whole || strings.HasPrefix(sub, name+"/")) {
			return false
		}
	}
	return true
}

func parent(name string) string {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)]
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// TestEnginetestChild is the body of the processes that TestEnginetest starts.
func TestEnginetestChild(t *testing.T) {
	name := os.Getenv(childSuite)
	if name == "" {
		t.Skip("a part of TestEnginetest")
	}
	i := slices.IndexFunc(suites, func(s suite) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("no suite %q", name)
	}
	h := newHarness(t)
	for skipped, reason := range readKnown(t)[name] {
		if strings.HasPrefix(reason, skipMark) {
			h.skip = append(h.skip, skipped)
		}
	}
	chdirToTestdata(t)
	suites[i].run(t, h)
}

// noReason stands for a reason somebody has to find.
const noReason = "(why?)"

// skipMark begins the reason of a case that must not even be run, because it would end or hang its process.
const skipMark = "skip: "

// readKnown reads the list: a case a line, "suite TAB case TAB reason"; # begins a comment.
func readKnown(t *testing.T) map[string]map[string]string {
	b, err := os.ReadFile(knownFailures)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]string{}
	for i, line := range strings.Split(string(b), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[2] == "" || f[2] == noReason && os.Getenv(runAll) == "" {
			t.Fatalf("%s:%d: want suite, case and reason, separated by tabs", knownFailures, i+1)
		}
		if known[f[0]] == nil {
			known[f[0]] = map[string]string{}
		}
		if _, again := known[f[0]][f[1]]; again {
			t.Fatalf("%s:%d: listed twice", knownFailures, i+1)
		}
		known[f[0]][f[1]] = f[2]
	}
	return known
}

// writeKnown writes the list anew, with what failed. Cases that are new on it get a reason nobody can take for one.
func writeKnown(t *testing.T, known, failures map[string]map[string]string) {
	var lines []string
	for _, s := range suites {
		cases, ran := failures[s.name]
		if !ran {
			cases = known[s.name]
		}
		for name, reason := range cases {
			if reason == "" {
				reason = noReason
				t.Errorf("new on the list: %s\t%s", s.name, name)
			}
			lines = append(lines, s.name+"\t"+name+"\t"+reason)
		}
	}
	slices.Sort(lines)
	text := "# Cases of go-mysql-server's enginetest that fail on hearth: suite, case and reason, separated by tabs.\n" +
		"# A case that passes must leave the list; one that is not on it must pass.\n" + strings.Join(append(lines, ""), "\n")
	if err := os.WriteFile(knownFailures, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// caseName is the name package testing makes of a subtest's.
func caseName(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte('_')
		case !strconv.IsPrint(r):
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestParseVerdicts(t *testing.T) {
	out := "\x16=== RUN   TestEnginetestChild\n\x16=== RUN   TestEnginetestChild/a\n\x16=== RUN   TestEnginetestChild/a/b_c\nwrong\n" +
		"\x16=== RUN   TestEnginetestChild/d\nno newline\x16=== NAME  TestEnginetestChild/d\n" +
		"\x16--- FAIL: TestEnginetestChild (0.00s)\n    \x16--- FAIL: TestEnginetestChild/a (0.00s)\n        \x16--- FAIL: TestEnginetestChild/a/b_c (0.00s)\n" +
		"    \x16--- PASS: TestEnginetestChild/d (0.00s)\nFAIL\n"
	got := parseVerdicts([]byte(out))
	want := map[string]verdict{"a/b_c": {"FAIL", "wrong\n"}, "d": {"PASS", ""}}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got = parseVerdicts([]byte("\x16=== RUN   TestEnginetestChild\n\x16--- PASS: TestEnginetestChild (0.00s)\n"))
	if want := map[string]verdict{whole: {"PASS", ""}}; !maps.Equal(got, want) {
		t.Errorf("a suite without subtests: got %v, want %v", got, want)
	}
	if caseName("a b\x01") != `a_b\x01` {
		t.Errorf("case name: got %s", caseName("a b\x01"))
	}
}

// chdirToTestdata goes to a directory with a copy of enginetest's testdata, which the suites name relative to their own.
func chdirToTestdata(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(filepath.Join(enginetestDir(), "testdata"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}
