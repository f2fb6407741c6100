package regex

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// flagLetters are those of MySQL's match_type.
var flagLetters = map[rune]RegexFlags{
	'i': RegexFlags_Case_Insensitive, 'm': RegexFlags_Multiline, 'n': RegexFlags_Dot_All, 'u': RegexFlags_Unix_Lines,
}

func flagsOf(letters string) (flags RegexFlags) {
	for _, letter := range letters {
		flags |= flagLetters[letter]
	}
	return flags
}

// open is a Regex for a pattern and a text.
func open(t testing.TB, pattern, letters, text string) (Regex, error) {
	t.Helper()
	x := CreateRegex(0)
	if err := x.SetRegexString(t.Context(), pattern, flagsOf(letters)); err != nil {
		return nil, err
	}
	if err := x.SetMatchString(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	return x, nil
}

var errno = regexp.MustCompile(`\(errno ([0-9]+)\)`)

// number is MySQL's for an error.
func number(err error) string {
	if m := errno.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return err.Error()
}

// TestICU compares with what ICU does, line by line of testdata/icu.txt.
func TestICU(t *testing.T) {
	file, err := os.Open("testdata/icu.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		var pattern, letters, text, replacement string
		if _, err := fmt.Sscanf(line, "%q %s %q %q", &pattern, &letters, &text, &replacement); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got := outcome(t, pattern, strings.Trim(letters, "-"), text, replacement)
		if head := fmt.Sprintf("%+q %s %+q %+q ", pattern, letters, text, replacement); head+got != line {
			t.Errorf("got  %s%s\nwant %s", head, got, line)
		}
	}
	if lines < 900 {
		t.Errorf("only %d lines", lines)
	}
}

// outcome is the last part of a line.
func outcome(t *testing.T, pattern, letters, text, replacement string) string {
	x, err := open(t, pattern, letters, text)
	if err != nil {
		return "error " + number(err)
	}
	from, err := x.IndexOf(t.Context(), 1, 1, false)
	if err != nil {
		return "error " + number(err)
	}
	if from == 0 {
		return "none"
	}
	to, err := x.IndexOf(t.Context(), 1, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	all, err := x.Replace(t.Context(), replacement, 1, 0)
	if err != nil {
		return "error " + number(err)
	}
	return fmt.Sprintf("%d %d %+q", from, to, all)
}
