package hearth_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports says which packages of hearth a package may import, and what from outside the
// standard library. It is a statement of policy: when the test fails, mend the import.
// A line changes only together with ARCHITECTURE.md, and arrows keep pointing one way.
//
// Packages of hearth are named without "internal/", the root is "hearth". invariant
// and golang.org/x/sys/unix are free for all. Tests may import any package of hearth.
const imports = `
	page      <-
	file      <-
	lock      <-
	invariant <-

	wal       <- page file
	region    <- page file
	datafile  <- page file
	pool      <- page region wal
	space     <- page pool
	btree     <- page pool space
	txn       <- page wal pool space btree lock
	recovery  <- page file wal region datafile pool
	check     <- page file wal region datafile pool space btree txn recovery

	heat      <- page file pool datafile
	admin     <- heat

	hearth    <- page file wal region datafile pool space btree lock txn recovery check heat admin

	bulk      <-
	rows      <- github.com/dolthub/go-mysql-server/... github.com/dolthub/vitess/... github.com/shopspring/decimal
	dict      <- hearth github.com/dolthub/go-mysql-server/...
	          <- github.com/dolthub/vitess/...
	sql       <- rows dict bulk hearth github.com/dolthub/go-mysql-server github.com/dolthub/go-mysql-server/...
	          <- github.com/dolthub/vitess/... gopkg.in/src-d/go-errors.v1 github.com/shopspring/decimal
	sqlparse  <- github.com/dolthub/go-mysql-server/... github.com/dolthub/vitess/...
	server    <- sql dict sqlparse bulk slowlog hearth github.com/dolthub/go-mysql-server github.com/dolthub/go-mysql-server/...
	          <- github.com/dolthub/vitess/... gopkg.in/src-d/go-errors.v1 github.com/sirupsen/logrus github.com/dolthub/go-icu-regex

	testbed   <- page file wal region datafile pool

	chart     <- gonum.org/v1/plot gonum.org/v1/plot/... golang.org/x/image/font
	peer      <- github.com/go-sql-driver/mysql
	clients   <-
	restart   <- chart github.com/HdrHistogram/hdrhistogram-go

	slowlog   <-
	slowlogd  <- slowlog github.com/fsnotify/fsnotify github.com/klauspost/compress/zstd github.com/prometheus/client_golang/prometheus
	          <- github.com/prometheus/client_golang/prometheus/promhttp
	replay    <- slowlog github.com/go-sql-driver/mysql github.com/dolthub/vitess/... github.com/klauspost/compress/zstd
	          <- github.com/prometheus/client_golang/prometheus github.com/prometheus/client_golang/prometheus/promhttp

	meddle    <-
	torture   <- hearth meddle
	sqltorture <- peer meddle github.com/go-sql-driver/mysql
	tpcc      <- github.com/go-sql-driver/mysql github.com/HdrHistogram/hdrhistogram-go
	bench     <- hearth restart chart peer tpcc slowlog slowlogd replay heat github.com/go-sql-driver/mysql
	          <- github.com/percona/go-mysql/log github.com/percona/go-mysql/log/slow
	          <- github.com/dolthub/go-mysql-server github.com/dolthub/go-mysql-server/memory github.com/dolthub/go-mysql-server/server
	          <- github.com/dolthub/go-mysql-server/sql github.com/sirupsen/logrus
	          <- go.etcd.io/bbolt
	          <- github.com/dgraph-io/badger/v4 github.com/dgraph-io/badger/v4/options github.com/dgraph-io/badger/v4/pb
	          <- github.com/dgraph-io/ristretto/v2/z
	          <- github.com/cockroachdb/pebble/v2 github.com/cockroachdb/pebble/v2/vfs github.com/cockroachdb/pebble/v2/sstable
	          <- github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider

	cmd/hearth <- hearth bench torture sqltorture sql check heat server admin restart chart peer slowlog slowlogd replay tpcc
	           <- github.com/alecthomas/kong
`

// inTests may be imported by test files besides.
var inTests = []string{"github.com/anishathalye/porcupine", "github.com/go-sql-driver/mysql", "github.com/dolthub/go-mysql-server"}

const modulePath = "github.com/hearthdb/hearth"

func TestImports(t *testing.T) {
	policy := parseImports(t)
	for _, f := range parseTree(t, parser.ImportsOnly) {
		pkg := shortName(path.Join(modulePath, filepath.ToSlash(filepath.Dir(f.path))))
		allowed, known := policy[pkg]
		if !known {
			t.Errorf("%s: package %s has no line in the import table of deps_test.go", f.path, pkg)
			continue
		}
		isTest := strings.HasSuffix(f.path, "_test.go")
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			switch name := shortName(imported); {
			case isStandard(imported), imported == "golang.org/x/sys/unix", name == "invariant":
			case slices.ContainsFunc(allowed, func(a string) bool { return matches(a, name) }):
			case isTest && (name != imported || slices.Contains(inTests, imported)):
			default:
				t.Errorf("%s: package %s must not import %s", f.path, pkg, name)
			}
		}
	}
}

// matches: a line of the table that ends in "/..." allows everything below it.
func matches(allowed, name string) bool {
	if below, ok := strings.CutSuffix(allowed, "..."); ok {
		return strings.HasPrefix(name, below)
	}
	return allowed == name
}

// parseImports reads the table. A line without a package goes on with the one before.
func parseImports(t *testing.T) map[string][]string {
	policy, pkg := map[string][]string{}, ""
	for line := range strings.Lines(imports) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		left, right, ok := strings.Cut(line, "<-")
		if !ok {
			t.Fatalf("import table: no arrow in %q", line)
		}
		if name := strings.TrimSpace(left); name != "" {
			pkg = name
		}
		policy[pkg] = append(policy[pkg], strings.Fields(right)...)
	}
	return policy
}

// shortName is the name of a package in the table.
func shortName(importPath string) string {
	if importPath == modulePath {
		return "hearth"
	}
	name, ours := strings.CutPrefix(importPath, modulePath+"/")
	if !ours {
		return importPath
	}
	return strings.TrimPrefix(name, "internal/")
}

// isStandard: paths of the standard library have no dot in their first element.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// sourceFile is one Go file of the tree.
type sourceFile struct {
	path string // from the root of the module
	ast  *ast.File
}

// parseTree reads every Go file of the module.
func parseTree(t *testing.T, mode parser.Mode) (files []sourceFile) {
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "third_party"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		f, err := parser.ParseFile(fset, name, nil, mode)
		if err != nil {
			return err
		}
		files = append(files, sourceFile{name, f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
