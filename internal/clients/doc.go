// Package clients runs programs that others have written for MySQL against a real `hearth serve`: the command line client, sysbench,
// the driver of Go, drivers and an ORM of Python, drivers and ORMs of Node.
//
// It is made of tests only, and knows nothing of the server but how to start it.
//
// # Rules
//
//  1. A client is used as its users use it: its own defaults, its own way to connect, no setting that helps us.
//  2. A client that is not installed is installed into a folder that goes away, with its package manager, in the version that
//     testdata names. Where that cannot be done, or with -short, the test is skipped and says what was not tested.
//  3. What goes wrong is mended, or stands in docs/compatibility.md; a script here does not step around it in silence.
//  4. A statement that made the server panic fails the test, whatever the client saw.
package clients
