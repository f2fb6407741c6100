package sqlparse

import "strings"

// myCollation is MySQL's collation for one of MariaDB's of the UCA 14.0.0, of which MySQL has none: the nearest one, by the
// UCA 9.0.0 for utf8mb4 and by that of 5.2.0 for utf8mb3. Empty for any other word. Dumps of MariaDB 11 name them everywhere.
func myCollation(word string) string {
	lower := strings.ToLower(word)
	charset, kind, ok := strings.Cut(lower, "uca1400_")
	if !ok {
		return ""
	}
	if strings.HasPrefix(charset, "utf8mb3") {
		return "utf8mb3_unicode_520_ci"
	}
	switch {
	case strings.HasSuffix(kind, "as_cs"):
		return "utf8mb4_0900_as_cs"
	case strings.HasSuffix(kind, "as_ci"):
		return "utf8mb4_0900_as_ci"
	}
	return "utf8mb4_0900_ai_ci"
}
