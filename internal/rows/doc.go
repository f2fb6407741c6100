// Package rows encodes the rows, keys and index entries of SQL tables.
//
// It knows the types of go-mysql-server and how their values compare. It does not know what a transaction is, where bytes are
// kept, nor the names of tables and columns: a column is its ordinal.
//
// Start with Table (table.go) and layout (layout.go) for rows, Key (key.go) for keys, Index (index.go) for index entries. The formats
// are at the head of the files that own them:
//
//	layout.go     a row
//	codec.go      values of a fixed width, in rows and keys
//	text.go       values of any length in rows; json.go, geometry.go: what those hold
//	key.go        a key and its parts
//	collation.go  collated text in keys
//	escape.go     bytes, and text by code point, in keys
//	index.go      an index entry
//	table.go      a row id
//
// format_test.go pins the bytes; docs/encodings.md tells users what follows from them.
//
// # Rules
//
//  1. Keys compare bytewise as gms.Type.Compare compares values, part by part, with NULL first. Keys are equal exactly if the values
//     are equal by their type and collation. So sorts that go-mysql-server drops and unique checks on keys are right.
//  2. What is decoded is what was encoded, to the Go type, in the column's scale. Exceptions: -0.0 is stored as 0.0, the two
//     being equal; text that is not UTF-8 is decoded by the column's character set; in a JSON document numbers keep their value
//     but not their Go type, and a time becomes a string.
//  3. What a key gives back (Key.DecodePart, Index.Decode) is what the row has. A value that its key does not determine, which is so for
//     collated text, is never taken from the key.
//  4. Damaged bytes are a *CorruptError. They cause no panic, and no allocation beyond a small multiple of their length.
//  5. Nothing decoded aliases what it was decoded from, and texts of one row share memory only while they are small (maxShared).
//  6. Rows and values of index entries begin with their version. Keys have none, for they must compare: another encoding of keys is
//     another tree.
//  7. A codec belongs to one version of a table. Rows of older versions are readable if the stored columns are the same and new ones were
//     added behind them; keys if the types, collations, prefixes and nullability of their columns are the same. Any other
//     change of a table is a rewrite.
package rows
