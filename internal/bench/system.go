package bench

import "context"

// A system is a store under measurement: one file each.
type system interface {
	name() string

	// open makes an empty store in dir, ready for load.
	open(ctx context.Context, dir string) error

	// load fills it with all rows, in key order, in the fastest way it offers, and
	// leaves the whole of it in memory.
	load(ctx context.Context, r rows) error

	// setDurable says what commit means from now on: acknowledged when the disk has it,
	// or acknowledged without waiting for the disk.
	setDurable(ctx context.Context, durable bool) error

	// get reads one row in a transaction of its own and appends the value to dst.
	get(ctx context.Context, key, dst []byte) ([]byte, error)

	// scan visits the rows from key on, in order, in one transaction, until visit says false.
	scan(ctx context.Context, from []byte, visit func(key, value []byte) bool) error

	// commit writes one row in a transaction of its own.
	commit(ctx context.Context, key, value []byte) error

	// settle waits, unmeasured, until background work caused by earlier commits is done,
	// so that it does not disturb the system measured next.
	settle(ctx context.Context) error

	close() error
}
