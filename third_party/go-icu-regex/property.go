package regex

import (
	"strings"
	"sync"
	"unicode"
)

// Sets that escapes and anchors stand for, made on first use: a start of the process pays for none of them.
var (
	alphabetic = sync.OnceValue(func() runeSet { return setOfTables(unicode.Letter, unicode.Nl, unicode.Other_Alphabetic) })
	lowercase  = sync.OnceValue(func() runeSet { return setOfTables(unicode.Ll, unicode.Other_Lowercase) })
	uppercase  = sync.OnceValue(func() runeSet { return setOfTables(unicode.Lu, unicode.Other_Uppercase) })
	digits     = sync.OnceValue(func() runeSet { return setOfTables(unicode.Nd) })
	spaces     = sync.OnceValue(func() runeSet { return setOfTables(unicode.White_Space) })
	horizontal = sync.OnceValue(func() runeSet { return setOfTables(unicode.Zs).union(setOfRunes("\t")) })
	vertical   = sync.OnceValue(func() runeSet { return setOf(runeRange{'\n', '\r'}, runeRange{0x85, 0x85}, runeRange{0x2028, 0x2029}) })
	wordChars  = sync.OnceValue(func() runeSet {
		return setOfTables(unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control).union(alphabetic())
	})
	graphemeExtend = sync.OnceValue(func() runeSet { return setOfTables(unicode.Me, unicode.Mn, unicode.Other_Grapheme_Extend) })
	assigned       = sync.OnceValue(func() runeSet {
		return setOfTables(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
	})
	graphic = sync.OnceValue(func() runeSet {
		return assigned().difference(setOfTables(unicode.White_Space, unicode.Cc, unicode.Cs))
	})
)

// derived are the properties that package unicode has no table for, under loose names.
var derived = map[string]func() runeSet{
	"alphabetic":     alphabetic,
	"alpha":          alphabetic,
	"lowercase":      lowercase,
	"lower":          lowercase,
	"uppercase":      uppercase,
	"upper":          uppercase,
	"space":          spaces,
	"cased":          func() runeSet { return lowercase().union(uppercase(), setOfTables(unicode.Lt)) },
	"math":           func() runeSet { return setOfTables(unicode.Sm, unicode.Other_Math) },
	"graphemeextend": graphemeExtend,
	"idstart":        identifierStart,
	"idcontinue": func() runeSet {
		return identifierStart().union(setOfTables(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)).
			difference(setOfTables(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
	},
	"any":      func() runeSet { return everything },
	"all":      func() runeSet { return everything },
	"ascii":    func() runeSet { return setOf(runeRange{0, 127}) },
	"assigned": assigned,
	"word":     wordChars,
	"alnum":    func() runeSet { return alphabetic().union(digits()) },
	"blank":    horizontal,
	"graph":    graphic,
	"print":    func() runeSet { return graphic().union(horizontal()).difference(setOfTables(unicode.Cc)) },
	"xdigit":   func() runeSet { return digits().union(setOfTables(unicode.Hex_Digit)) },
}

func identifierStart() runeSet {
	return setOfTables(unicode.L, unicode.Nl, unicode.Other_ID_Start).difference(setOfTables(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
}

// property finds the set for what stands in \p{...} or [:...:]: a general category, a script, a property, or one of these with a
// value, "Script=Greek". ok is false for a name that is not known here; blocks of characters and names of four letters for scripts are not.
func property(text string) (set runeSet, ok bool) {
	name, value, hasValue := strings.Cut(text, "=")
	if !hasValue {
		name, value, hasValue = strings.Cut(text, ":")
	}
	name, value = loose(name), loose(value)
	if !hasValue {
		if set, ok = propertyNamed(name); !ok {
			set, ok = propertyNamed(strings.TrimPrefix(name, "is"))
		}
		return set, ok
	}
	switch name {
	case "generalcategory", "gc", "category":
		return categoryNamed(value)
	case "script", "sc":
		return scriptNamed(value)
	}
	if set, ok = binaryNamed(name); !ok {
		return nil, false
	}
	switch value {
	case "yes", "y", "true", "t":
		return set, true
	case "no", "n", "false", "f":
		return set.negated(), true
	}
	return nil, false
}

func propertyNamed(name string) (runeSet, bool) {
	for _, find := range []func(string) (runeSet, bool){categoryNamed, scriptNamed, binaryNamed} {
		if set, ok := find(name); ok {
			return set, true
		}
	}
	return nil, false
}

func binaryNamed(name string) (runeSet, bool) {
	if of, ok := derived[name]; ok {
		return of(), true
	}
	return remembered("binary "+name, func() []*unicode.RangeTable {
		for have, table := range unicode.Properties {
			if loose(have) == name && !strings.HasPrefix(have, "Other_") {
				return []*unicode.RangeTable{table}
			}
		}
		return nil
	})
}

func scriptNamed(name string) (runeSet, bool) {
	return remembered("script "+name, func() []*unicode.RangeTable {
		for have, table := range unicode.Scripts {
			if loose(have) == name {
				return []*unicode.RangeTable{table}
			}
		}
		return nil
	})
}

func categoryNamed(name string) (runeSet, bool) {
	switch name {
	case "cn", "unassigned":
		return assigned().negated(), true
	case "c", "other":
		return assigned().negated().union(setOfTables(unicode.C)), true
	}
	return remembered("category "+name, func() []*unicode.RangeTable {
		for long, short := range unicode.CategoryAliases {
			if loose(long) == name {
				name = loose(short)
			}
		}
		if name == "lc" {
			return []*unicode.RangeTable{unicode.Ll, unicode.Lu, unicode.Lt}
		}
		for have, table := range unicode.Categories {
			if loose(have) == name {
				return []*unicode.RangeTable{table}
			}
		}
		return nil
	})
}

// sets keeps what was made from tables, so that a pattern that names a property often holds it once. There are a few hundred names.
var sets struct {
	sync.Mutex
	of map[string]runeSet
}

func remembered(key string, find func() []*unicode.RangeTable) (runeSet, bool) {
	sets.Lock()
	defer sets.Unlock()
	if set, ok := sets.of[key]; ok {
		return set, true
	}
	tables := find()
	if tables == nil {
		return nil, false
	}
	set := setOfTables(tables...)
	if sets.of == nil {
		sets.of = map[string]runeSet{}
	}
	sets.of[key] = set
	return set, true
}

// loose is a name without what Unicode's matching of names ignores: case, space, '-' and '_'.
func loose(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '_', '-', '\t':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
