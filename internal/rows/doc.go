// Package rows encodes the rows, keys and index entries of SQL tables.
//
// It knows the types of go-mysql-server and how they compare. It does not know what a transaction
// is, where bytes are kept, nor the names of tables.
package rows
