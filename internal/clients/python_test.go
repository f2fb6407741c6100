package clients_test

import (
	"path/filepath"
	"testing"
)

// SQLAlchemy creates, reflects, writes, reads and migrates, over two drivers; the drivers do by themselves what it does not use.
func TestPython(t *testing.T) {
	dir := install(t, "python",
		[]string{"python3", "-m", "venv", "venv"},
		[]string{filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"})
	python, err := filepath.Abs(filepath.Join(dir, "venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"orm.py", "pymysql"}, {"orm.py", "mysqlconnector"}, {"drivers.py"}} {
		t.Run(filepath.Join(c...), func(t *testing.T) { script(t, dir, python, c...) })
	}
}
