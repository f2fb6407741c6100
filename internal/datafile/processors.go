package datafile

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// processors tells how long all processors of the machine were idle since it started, and how long they were in all, in a unit that nobody needs. 0, 0:
// the system does not tell.
func processors() (idle, all int64) {
	f := statFile()
	if f == nil {
		return 0, 0
	}
	b := make([]byte, 256) // the first line is the sum of all processors
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return parseProcessors(line)
}

var statFile = sync.OnceValue(func() *os.File {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return nil
	}
	return f
})

// parseProcessors takes the line apart: cpu user nice system idle iowait irq softirq steal …, of which guests are in user (proc_stat(5)).
func parseProcessors(line string) (idle, all int64) {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	for i, s := range fields[1:9] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, 0
		}
		if all += n; i == 3 || i == 4 {
			idle += n
		}
	}
	return idle, all
}
