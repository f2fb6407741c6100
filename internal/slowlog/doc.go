// Package slowlog reads slow query logs, and writes them.
//
// It knows the formats of MySQL 5.7 to 9, MariaDB 10 and 11 and Percona Server 5.6 to 8.4, and hearth's own, which says how long
// a statement is. It does not know files, rotation or networks (slowlogd does), nor what a statement means (replay does).
//
// # Rules
//
//  1. An entry starts at a line that begins with "# Time: " or, where that is left out, with "# User@Host: ".
//  2. "SET [last_insert_id=,][insert_id=,]timestamp=N;" is the last line of a header. A "use" line before it is the server's; one
//     after it is the client's statement.
//  3. A text ends at ";" and newline, outside quotes and block comments, where a header line, a banner line, a comment of the
//     daemon or the end of the log follows. A line comment does not hide the end.
//  4. A header line inside a text belongs to it, as long as rule 3 finds an end within Options.LookAhead bytes after it. If it
//     finds none, nor does it when a backslash is an ordinary character (NO_BACKSLASH_ESCAPES), the text ends before that line.
//  5. Banner lines and comments of the daemon may stand between entries, and nowhere else.
//  6. "# Query_bytes: N" overrules 3 and 4 where ";" and newline stand N bytes into the text.
//  7. The schema is that of the entry's own "Schema:" field, else that of the last "use" of the log, whichever connection wrote
//     it, else none since the last banner, else unknown.
//  8. Bytes are never changed, and every byte is accounted for: it belongs to one entry, or is counted as outside of all.
//  9. Whatever the input, memory is bounded by Options.MaxText, and reading goes on behind what could not be understood.
//
// A frame can be wrong: a log is text without escapes, and a client decides what stands in its statements. Rules 3 to 6 make
// that hard, they do not make it impossible, so whoever runs what was read must be safe against any text.
package slowlog
