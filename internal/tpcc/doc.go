// Package tpcc is a load in the terms of TPC-C (TPC Benchmark C, revision 5.11): an order-entry business of warehouses, its five
// transactions, its measure (new orders per minute, NOTPM here, since it is not audited), and the conditions that hold between its
// tables whatever happens to the server.
//
// It speaks to any server of the MySQL protocol through database/sql. It does not know which, nor when it is killed.
//
// # Rules
//
//  1. A transaction that was acknowledged is in the Ledger before its terminal begins the next one. One whose commit was not answered
//     is not in it, and may be in the database all the same.
//  2. A transaction that loses a deadlock or waits too long for a lock is done again with the same input, and counted (Stats.Retries).
//     Every other error goes to the caller, who decides whether the server is expected to be away.
//  3. Consistency conditions 1 to 4 (clause 3.3.2) are asked for in one snapshot, so they hold under load too.
//
// # Differences to the standard
//
//   - Terminals have no keying and no thinking time, and draw a warehouse for each transaction (as tpcc-mysql and sysbench-tpcc do):
//     the load touches all of the data, whatever the number of clients.
//   - HISTORY has a primary key, h_id, made of the terminal and a number: it is how an acknowledged payment is found again, and storage
//     engines that cluster rows want one.
//   - Delivery is done at once, not queued. The lines of a new order go into the database in the order of (supplying warehouse, item), and by
//     one INSERT.
//   - New-Orders that are rolled back on purpose are not counted in NOTPM.
//   - A Scale may be smaller than a warehouse of the standard.
package tpcc
