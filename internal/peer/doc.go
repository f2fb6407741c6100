// Package peer runs database servers in folders of their own, for measurements and tests: MariaDB from the system's packages,
// and hearth itself, each configured alike: same memory, same durability.
//
// It does not know what is measured. It knows how a server is made, started, asked whether it answers, stopped and killed.
//
// # Rules
//
//  1. A server listens on a unix socket in its folder and on a port of the loopback interface that was free.
//  2. A server is a child process of its own group: Ctrl-C is for us, and we end what we started.
//  3. What a server writes to its standard error is kept and told when it does not start.
package peer
