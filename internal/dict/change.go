package dict

import (
	"github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// Change is what one engine transaction does to the dictionary. Like the transaction it is for one goroutine. It ends with
// Committed or Abandoned. Errors of the engine (deadlock, lock wait timeout, ...) come through as they are.
type Change struct {
	dict *Dict
	tx   *hearth.Tx
}

// Mark is a place in a change to return to.
type Mark struct{ steps int }

// Begin starts a change in tx. Nothing is written before the first Put or Drop.
func (d *Dict) Begin(tx *hearth.Tx) *Change { return &Change{dict: d, tx: tx} }

// Schema is the committed picture of this moment with the change's own steps applied.
func (c *Change) Schema() *Schema { panic("BUG: not written yet") }

// Mark returns the present place. It belongs to a savepoint of the engine transaction.
func (c *Change) Mark() Mark { panic("BUG: not written yet") }

// RollbackTo forgets the steps since m. It changes the picture only; the caller rolls the engine transaction back to its savepoint.
func (c *Change) RollbackTo(m Mark) { panic("BUG: not written yet") }

// Committed publishes the change. To be called once the engine transaction's Commit returned nil, before the locks go (rule 4).
func (c *Change) Committed() { panic("BUG: not written yet") }

// Abandoned ends a change whose engine transaction was rolled back, or failed to commit.
func (c *Change) Abandoned() { panic("BUG: not written yet") }

// PutDatabase makes a database, or changes collation and comment of the one that has the name.
func (c *Change) PutDatabase(name string, collation sql.CollationID, comment string) error {
	panic("BUG: not written yet")
}

// DropDatabase removes a database with everything in it. The trees of its tables are the caller's to drop.
func (c *Change) DropDatabase(name string) error { panic("BUG: not written yet") }

// PutTable stores a table: a new one if its ID is new, else another definition (also: name) of the one with its ID. It returns the
// table as the picture now shows it, which has a new Version; t itself is not kept. Trees are the caller's.
func (c *Change) PutTable(t *Table) (*Table, error) { panic("BUG: not written yet") }

// DropTable removes a table's definition and its counter. Its trees are the caller's to drop.
func (c *Change) DropTable(database, name string) error { panic("BUG: not written yet") }

// PutView stores a view in place of the one of that name, if there is one. Views and tables share their names. So with all below.
func (c *Change) PutView(database string, v View) error { panic("BUG: not written yet") }

// DropView removes a view.
func (c *Change) DropView(database, name string) error { panic("BUG: not written yet") }

// PutTrigger stores a trigger.
func (c *Change) PutTrigger(database string, t Trigger) error { panic("BUG: not written yet") }

// DropTrigger removes a trigger.
func (c *Change) DropTrigger(database, name string) error { panic("BUG: not written yet") }

// PutProcedure stores a procedure.
func (c *Change) PutProcedure(database string, p Procedure) error { panic("BUG: not written yet") }

// DropProcedure removes a procedure.
func (c *Change) DropProcedure(database, name string) error { panic("BUG: not written yet") }

// PutEvent stores an event.
func (c *Change) PutEvent(database string, e Event) error { panic("BUG: not written yet") }

// DropEvent removes an event.
func (c *Change) DropEvent(database, name string) error { panic("BUG: not written yet") }

// PutVariable stores the value of a global variable (SET PERSIST).
func (c *Change) PutVariable(name, value string) error { panic("BUG: not written yet") }

// DropVariable forgets the persisted value of a variable. It is no error if there is none.
func (c *Change) DropVariable(name string) error { panic("BUG: not written yet") }

// PutUsers stores the users and grants, opaque bytes to us.
func (c *Change) PutUsers(data []byte) error { panic("BUG: not written yet") }
