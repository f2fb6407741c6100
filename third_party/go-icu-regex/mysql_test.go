package regex

import (
	"strings"
	"testing"
)

// TestLike: the examples of REGEXP_LIKE in MySQL's manual, "Regular Expression Functions and Operators", and of its syntax.
func TestLike(t *testing.T) {
	for _, c := range []struct {
		text, pattern, letters string
		want                   bool
	}{
		{"Michael!", ".*", "", true},
		{"new*\n*line", `new\*.\*line`, "", false},
		{"a", "^[a-d]", "", true},
		{"CamelCase", "CAMELCASE", "i", true},
		{"CamelCase", "CAMELCASE", "", false},
		{"abc", "ABC", "", false},
		{"fo\nfo", "^fo$", "", false},
		{"fofo", "^fo", "", true},
		{"fo\no", "^fo\no$", "", true},
		{"fo\no", "^fo$", "", false},
		{"fofo", "^f.*$", "", true},
		{"fo\r\nfo", "^f.*$", "", false},
		{"fo\r\nfo", "^f.*$", "m", true},
		{"fo\r\nfo", "(?m)^f.*$", "", true},
		{"Ban", "^Ba*n", "", true},
		{"Baaan", "^Ba*n", "", true},
		{"Bn", "^Ba*n", "", true},
		{"Ban", "^Ba+n", "", true},
		{"Bn", "^Ba+n", "", false},
		{"Bn", "^Ba?n", "", true},
		{"Ban", "^Ba?n", "", true},
		{"Baan", "^Ba?n", "", false},
		{"pi", "pi|apa", "", true},
		{"axe", "pi|apa", "", false},
		{"apa", "pi|apa", "", true},
		{"apa", "^(pi|apa)$", "", true},
		{"pi", "^(pi|apa)$", "", true},
		{"pix", "^(pi|apa)$", "", false},
		{"pi", "^(pi)*$", "", true},
		{"pip", "^(pi)*$", "", false},
		{"pipi", "^(pi)*$", "", true},
		{"abcde", "a[bcd]{2}e", "", false},
		{"abcde", "a[bcd]{3}e", "", true},
		{"abcde", "a[bcd]{1,10}e", "", true},
		{"aXbc", "[a-dXYZ]", "", true},
		{"aXbc", "^[a-dXYZ]$", "", false},
		{"aXbc", "^[a-dXYZ]+$", "", true},
		{"aXbc", "^[^a-dXYZ]+$", "", false},
		{"gheis", "^[^a-dXYZ]+$", "", true},
		{"gheisa", "^[^a-dXYZ]+$", "", false},
		{"justalnums", "[[:alnum:]]+", "", true},
		{"!!", "[[:alnum:]]+", "", false},
		{"1+2", "1+2", "", false},
		{"1+2", `1\+2`, "", true},
		{"a\nb", "a.b", "", false},
		{"a\nb", "a.b", "n", true},
		{"a\rb", "a.b", "u", true},
		{"Straße", "STRASSE", "i", true},
		{"👩‍👩‍👧 family", `^\X family`, "", true},
		{"🇩🇪🇫🇷", `^\X\X$`, "", true},
		{"각", `^\X$`, "", true}, // three jamo
	} {
		x, err := open(t, c.pattern, c.letters, c.text)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got, err := x.Matches(t.Context(), 0, 0); got != c.want || err != nil {
			t.Errorf("REGEXP_LIKE(%q, %q, %q): got %v, %v, want %v", c.text, c.pattern, c.letters, got, err, c.want)
		}
	}
}

// TestInstrAndSubstr: the manual's examples, and positions around characters of several bytes.
func TestInstrAndSubstr(t *testing.T) {
	for _, c := range []struct {
		text, pattern     string
		start, occurrence int
		from, to          int
		substring         string
	}{
		{"dog cat dog", "dog", 1, 1, 1, 4, "dog"},
		{"dog cat dog", "dog", 2, 1, 9, 12, "dog"},
		{"dog cat dog", "dog", 1, 2, 9, 12, "dog"},
		{"dog cat dog", "dog", 1, 3, 0, 0, ""},
		{"dog cat dog", "dog", 1, -1, 1, 4, "dog"},
		{"dog cat dog", "dog", 0, 1, 1, 4, "dog"},
		{"aa aaa aaaa", "a{2}", 1, 1, 1, 3, "aa"},
		{"aa aaa aaaa", "a{4}", 1, 1, 8, 12, "aaaa"},
		{"abc def ghi", "[a-z]+", 1, 1, 1, 4, "abc"},
		{"abc def ghi", "[a-z]+", 1, 3, 9, 12, "ghi"},
		{"🍣🍣b", "b", 1, 1, 3, 4, "b"},
		{"🍣🍣b", ".", 2, 2, 3, 4, "b"},
		{"äöü", "ü|$", 3, 1, 3, 4, "ü"},
		{"äöü", "ü|$", 3, 2, 4, 4, ""},
		{"äöü", "$", 4, 1, 4, 4, ""},
		{"abc", "^b", 2, 1, 0, 0, ""},              // ^ is the start of the text, not of the search
		{"abc", "(?<=a)b", 2, 1, 2, 3, "b"},        // what comes before is seen
		{"a\xffb\xff", "b.$", 1, 1, 3, 5, "b\xff"}, // bytes that are no UTF-8 are a character each
		{"", "^$", 1, 1, 1, 1, ""},
	} {
		x, err := open(t, c.pattern, "", c.text)
		if err != nil {
			t.Fatal(err)
		}
		from, err1 := x.IndexOf(t.Context(), c.start, c.occurrence, false)
		to, err2 := x.IndexOf(t.Context(), c.start, c.occurrence, true)
		substring, found, err3 := x.Substring(t.Context(), c.start, c.occurrence)
		if err1 != nil || err2 != nil || err3 != nil || from != c.from || to != c.to || substring != c.substring || found != (c.from > 0) {
			t.Errorf("%q in %q from %d, %d: got %d %d %q %v (%v %v %v), want %d %d %q", c.pattern, c.text, c.start, c.occurrence,
				from, to, substring, found, err1, err2, err3, c.from, c.to, c.substring)
		}
	}
}

// TestReplace: the manual's examples, groups in replacements, and empty matches.
func TestReplace(t *testing.T) {
	for _, c := range []struct {
		text, pattern, replacement string
		start, occurrence          int
		want                       string
	}{
		{"a b c", "b", "X", 1, 0, "a X c"},
		{"abc def ghi", "[a-z]+", "X", 1, 3, "abc def X"},
		{"abc def ghi", "[a-z]+", "X", 1, 4, "abc def ghi"},
		{"abc def ghi", "[a-z]", "X", 5, 4, "abc def Xhi"},
		{"abc def ghi", "[a-z]", "X", 1, -1, "Xbc def ghi"},
		{"abc", "(?<first>.)(.)", "$2${first}$0", 1, 0, "baabc"},
		{"abc", "b", `\$1\\`, 1, 0, `a$1\c`},
		{"abc", "b*", "-", 1, 0, "-a--c-"},
		{"äöü", "", "-", 2, 0, "ä-ö-ü-"},
		{"äöü", "(?=ö)|$", "🍣", 1, 0, "ä🍣öü🍣"},
		{"a\r\nb\r\nc", "(?m)$", ";", 1, 0, "a;\r\nb;\r\nc;"},
	} {
		x, err := open(t, c.pattern, "", c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Replace(t.Context(), c.replacement, c.start, c.occurrence); got != c.want || err != nil {
			t.Errorf("REGEXP_REPLACE(%q, %q, %q, %d, %d): got %q, %v, want %q",
				c.text, c.pattern, c.replacement, c.start, c.occurrence, got, err, c.want)
		}
	}
}

// TestPatternErrors: MySQL's number, state and text for what is wrong with a pattern.
func TestPatternErrors(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"[[:<:]]word[[:>:]]", "Illegal argument to a regular expression. (errno 3685) (sqlstate HY000)"},
		{`\p{Klingon}`, "Illegal argument to a regular expression. (errno 3685) (sqlstate HY000)"},
		{"*", "Syntax error in regular expression on line 1, character 1. (errno 3688) (sqlstate HY000)"},
		{"ab\nc**", "Syntax error in regular expression on line 2, character 3. (errno 3688) (sqlstate HY000)"},
		{`a\`, "Unrecognized escape sequence in regular expression. (errno 3689) (sqlstate HY000)"},
		{`\x{110000}`, "Unrecognized escape sequence in regular expression. (errno 3689) (sqlstate HY000)"},
		{`\N{BULLET}`, "The regular expression contains a feature that is not implemented in this library version. (errno 3690) (sqlstate HY000)"},
		{`(?w)\b`, "The regular expression contains a feature that is not implemented in this library version. (errno 3690) (sqlstate HY000)"},
		{"(a", "Mismatched parenthesis in regular expression. (errno 3691) (sqlstate HY000)"},
		{"a)", "Mismatched parenthesis in regular expression. (errno 3691) (sqlstate HY000)"},
		{"a{", "Incorrect description of a {min,max} interval. (errno 3692) (sqlstate HY000)"},
		{"a{2,1}", "The maximum is less than the minimum in a {min,max} interval. (errno 3693) (sqlstate HY000)"},
		{`(a)\2`, "Invalid back-reference in regular expression. (errno 3694) (sqlstate HY000)"},
		{"(?<=a*)b", "The look-behind assertion exceeds the limit in regular expression. (errno 3695) (sqlstate HY000)"},
		{"[a", "The regular expression contains an unclosed bracket expression. (errno 3696) (sqlstate HY000)"},
		{"[z-a]", "The regular expression contains an [x-y] character range where x comes after y. (errno 3697) (sqlstate HY000)"},
		{strings.Repeat("(", 5000), "The regular expression pattern exceeds limits on size or complexity. (errno 3700) (sqlstate HY000)"},
		{strings.Repeat("[", 5000), "The regular expression pattern exceeds limits on size or complexity. (errno 3700) (sqlstate HY000)"},
		{strings.Repeat("a", PatternLimit+1), "The regular expression pattern exceeds limits on size or complexity. (errno 3700) (sqlstate HY000)"},
		{strings.Repeat(`[\p{L}a]`, 5000), "The regular expression pattern exceeds limits on size or complexity. (errno 3700) (sqlstate HY000)"},
		{"(?<n>a)(?<n>b)", "A capture group has an invalid name. (errno 3887) (sqlstate HY000)"},
		{"(?iq)a", "Invalid match mode flag in regular expression. (errno 3900) (sqlstate HY000)"},
		{"a{99999999}", "Got error 'U_REGEX_NUMBER_TOO_BIG' from regexp (errno 1139) (sqlstate 42000)"},
		{`\pL`, "Got error 'U_REGEX_PROPERTY_SYNTAX' from regexp (errno 1139) (sqlstate 42000)"},
	} {
		_, err := open(t, c.pattern, "", "")
		if err == nil || err.Error() != c.want || !ErrInvalidRegex.Is(err) {
			t.Errorf("%.40q: got %v, want %s", c.pattern, err, c.want)
		}
	}
}

// TestUse: what is called out of order or out of bounds is told.
func TestUse(t *testing.T) {
	x := CreateRegex(1 << 19)
	if _, err := x.Matches(t.Context(), 0, 0); !ErrRegexNotYetSet.Is(err) {
		t.Errorf("no pattern: %v", err)
	}
	if err := x.SetMatchString(t.Context(), "a"); !ErrRegexNotYetSet.Is(err) {
		t.Errorf("no pattern: %v", err)
	}
	if err := x.SetRegexString(t.Context(), "(a)", RegexFlags_None); err != nil {
		t.Fatal(err)
	}
	if _, err := x.IndexOf(t.Context(), 1, 1, false); !ErrMatchNotYetSet.Is(err) {
		t.Errorf("no text: %v", err)
	}
	if err := x.SetMatchString(t.Context(), "äa"); err != nil {
		t.Fatal(err)
	}
	for start, fails := range map[int]bool{-1: true, 0: false, 1: false, 3: false, 4: true} {
		if _, err := x.IndexOf(t.Context(), start, 1, false); ErrOutOfBounds.Is(err) != fails {
			t.Errorf("start %d: %v", start, err)
		}
	}
	for replacement, kind := range map[string]interface{ Is(error) bool }{
		"$": ErrGroupName, "$x": ErrGroupName, "${1}": ErrGroupName, "${x}": ErrGroupName, "${x": ErrGroupName, "$2": ErrOutOfBounds,
	} {
		if _, err := x.Replace(t.Context(), replacement, 1, 0); !kind.Is(err) {
			t.Errorf("%s: %v", replacement, err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := x.Matches(t.Context(), 0, 0); !ok || err != nil {
		t.Errorf("after Close, which copies of an expression may call first: %v, %v", ok, err)
	}
}
