// Package restart measures what the users of a database notice of its restart: how many requests are answered, and how
// fast, in each moment before and after it.
//
// It does not know what a request is, nor which database answers it. Those who measure give it functions; it gives back a
// Timeline, and draws it.
//
// # Rules
//
//  1. Time is the wall clock of one machine: what several processes measured fits together.
//  2. In an open loop the latency of a request counts from the moment it was due, not from when it was sent: who waits in
//     front of a slow server waits (Schroeder et al., "Open Versus Closed: A Cautionary Tale", NSDI 2006).
//  3. A Tick is sent also when nothing was answered in it. A gap in the ticks is a gap in the measurement, not a stall.
//  4. What was measured is kept in whole (Tick); every figure is computed from it.
package restart
