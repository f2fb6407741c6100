package clients_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the output of the command line client to testdata/mariadb, to be read before it is committed")

// The scripts in testdata/mariadb give what stands beside them. They go on after errors; what the client says of time is left out.
func TestMariaDBClient(t *testing.T) {
	need(t, "mariadb")
	scripts, err := filepath.Glob("testdata/mariadb/*.sql")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".sql"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, "", string(text), "mariadb", "--no-defaults", "--socket="+served.Socket, "--user=root", "--force", "--table")
			if err != nil && !strings.Contains(got, "ERROR") {
				t.Fatalf("%v\n%s", err, got)
			}
			golden := strings.TrimSuffix(name, ".sql") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Fatalf("%s: got, where %s wants another:\n%s", name, golden, firstDifference(got, string(want)))
			}
		})
	}
}

// firstDifference of two texts, with the lines before it.
func firstDifference(got, want string) string {
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	const before, after = 5, 10
	return "got:\n" + strings.Join(g[min(max(i-before, 0), len(g)):min(i+after, len(g))], "") +
		"want:\n" + strings.Join(w[min(max(i-before, 0), len(w)):min(i+after, len(w))], "")
}
