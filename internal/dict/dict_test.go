package dict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
)

// rich is a table with everything a table can have.
func (w *world) rich(database, name string) *Table {
	t := w.table(database, name)
	t.Comment, t.Collation = "what <it> is & \xff not", gms.Collation_latin1_swedish_ci
	t.Columns, t.Primary, t.Counter, t.CounterStart = nil, []Part{{Column: 3}, {Column: 1, Prefix: 7}}, w.id(), 42
	for i, typ := range columnTypes() {
		t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("c%d", i), Type: typ, Nullable: i%2 == 0})
	}
	text := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Type == types.LongText })
	t.Columns[1] = Column{Name: "Ключ", Type: types.LongText}
	t.Columns[3] = Column{Name: "id", Type: types.Uint16, AutoIncrement: true}
	t.Columns[5].Default = &Expression{Text: "'a''b\xfe'", Literal: true, ReturnNil: true}
	t.Columns[6].Default = &Expression{Text: "(uuid())", Parenthesized: true}
	t.Columns[7].Generated, t.Columns[7].Virtual = &Expression{Text: "(c1 + 1)", Parenthesized: true}, true
	t.Columns[8].Generated = &Expression{Text: "concat(c1, '\x00')"}
	t.Columns[9].Default, t.Columns[9].OnUpdate = &Expression{Text: "CURRENT_TIMESTAMP"}, &Expression{Text: "CURRENT_TIMESTAMP(6)"}
	t.Columns[10].Comment, t.Columns[10].Extra = "a comment", "DEFAULT_GENERATED"
	t.Indexes = []Index{
		{ID: w.id(), Name: "k1", Parts: []Part{{Column: text, Prefix: 10}, {Column: 2}}, Unique: true, Comment: "why"},
		{ID: w.id(), Name: "fk", Parts: []Part{{Column: 4}}, Generated: true},
	}
	t.Checks = []Check{{Name: "ck1", CheckExpression: "(c2 > 0)", Enforced: true}, {Name: "ck2", CheckExpression: "c2 <> '<'"}}
	t.ForeignKeys = []ForeignKey{
		{
			Name: "fk1", Columns: []string{"c2", "c4"}, ParentDatabase: "Other", ParentTable: "Parent", ParentColumns: []string{"a", "b"},
			OnUpdate: gms.ForeignKeyReferentialAction_Cascade, OnDelete: gms.ForeignKeyReferentialAction_SetNull,
		},
		{
			Name: "fk2", Columns: []string{"c4"}, ParentDatabase: database, ParentTable: name, ParentColumns: []string{"id"},
			OnUpdate: gms.ForeignKeyReferentialAction_DefaultAction, OnDelete: gms.ForeignKeyReferentialAction_NoAction, IsResolved: true,
		},
	}
	return t
}

func TestEverythingComesBack(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	put := w.rich("Shop", "Orders")
	w.ok(w.change(func(c *Change) error {
		for _, err := range []error{
			c.PutDatabase("Shop", gms.Collation_utf8mb4_german2_ci, "the shop"),
			func() error { _, err := create1(c, put); return err }(),
			c.PutView("shop", View{Name: "V1", TextDefinition: "SELECT '\xff'", CreateViewStatement: "CREATE VIEW V1 AS SELECT '\xff'", SqlMode: "ANSI"}),
			c.PutTrigger("shop", Trigger{Name: "Z", CreateStatement: "CREATE TRIGGER Z", CreatedAt: now, SqlMode: "x"}),
			c.PutTrigger("shop", Trigger{Name: "A", CreateStatement: "CREATE TRIGGER A", CreatedAt: now.Add(time.Second)}),
			c.PutProcedure("shop", Procedure{Name: "P", CreateStatement: "CREATE PROCEDURE P", CreatedAt: now, ModifiedAt: now, SqlMode: "y"}),
			c.PutEvent("shop", Event{
				Name: "E", EventBody: "DELETE", TimezoneOffset: "+01:00", Status: "ENABLED", Definer: "a@b", SqlMode: "z", CreatedAt: now,
				LastAltered: now, LastExecuted: time.Time{}, Comment: "c", OnCompletionPreserve: true, HasExecuteAt: true, ExecuteAt: now,
				ExecuteEvery: "1 DAY", Starts: now, HasEnds: true, Ends: now.Add(time.Hour),
			}),
			c.PutVariable("max_connections", "500"), c.PutVariable("init_connect", "SET x = '\xff'"),
			c.PutUsers([]byte{0, 1, 2, 255}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	}))
	before := w.Schema()
	got := before.Table("sHOP", "oRDERS")
	for i := range got.Columns {
		c := put.Columns[i]
		if !got.Columns[i].Type.Equals(c.Type) {
			t.Errorf("column %d has type %v, want %v", i, got.Columns[i].Type, c.Type)
		}
		got.Clone().Columns[i].Type = nil // a clone is one
	}
	want := put.Clone()
	for i := range want.Columns {
		want.Columns[i].Type = got.Columns[i].Type
	}
	want.Version, want.Database = got.Version, "Shop"
	for i := range want.ForeignKeys {
		want.ForeignKeys[i].Database, want.ForeignKeys[i].Table = "Shop", "Orders"
	}
	if fmt.Sprintf("%+v", describeTable(got)) != fmt.Sprintf("%+v", describeTable(want)) {
		t.Errorf("the table is\n%s\nwant\n%s", describeTable(got), describeTable(want))
	}
	if v, _ := before.Variable("INIT_connect"); v != "SET x = '\xff'" {
		t.Errorf("variable is %q", v)
	}
	db := before.Database("SHOP")
	if tr := db.Triggers(); len(tr) != 2 || tr[0].Name != "Z" || !tr[0].CreatedAt.Equal(now) {
		t.Errorf("triggers are %v, want Z before A", tr)
	}
	if e := db.Event("e"); !e.Ends.Equal(now.Add(time.Hour)) || !e.LastExecuted.IsZero() || !e.OnCompletionPreserve {
		t.Errorf("event is %+v", e)
	}
	for _, orderly := range []bool{true, false} {
		w.reopen(orderly)
		same(t, w.Schema(), before)
		w.sound()
	}
}

func describeTable(t *Table) string {
	s := fmt.Sprintf("%d %d %q %q %v %q %d %d %d %v %v %v", t.ID, t.Version, t.Database, t.Name, t.Collation, t.Comment, t.Storage,
		t.Counter, t.CounterStart, t.Primary, t.Indexes, t.Checks)
	for _, c := range t.Columns {
		s += fmt.Sprintf("\n%q %v %v %v %v %v %v %v %q %q", c.Name, c.Type, c.Nullable, c.AutoIncrement, c.Default, c.Generated, c.Virtual,
			c.OnUpdate, c.Comment, c.Extra)
	}
	for _, fk := range t.ForeignKeys {
		s += fmt.Sprintf("\n%+v", fk)
	}
	return s
}

func TestOwnChangesAreSeenByNobodyElse(t *testing.T) {
	w := newWorld(t)
	w.with("d", "a")
	before := w.Schema()
	c, tx := w.begin()
	if c.Schema() != before {
		t.Error("a change without steps has a picture of its own")
	}
	_, err := create1(c, w.table("D", "B"))
	w.ok(err)
	w.ok(remove(c, "d", "A"))
	if own := c.Schema().Database("d"); own.Table("b") == nil || own.Table("a") != nil || c.Schema().Generation() != 0 {
		t.Errorf("the change shows %v", describe(c.Schema()))
	}
	if w.Schema() != before || before.Table("d", "a") == nil || before.Table("d", "b") != nil {
		t.Error("others see the change")
	}
	w.rollback(c, tx)
	if w.Schema() != before {
		t.Error("an abandoned change was published")
	}

	c, tx = w.begin()
	_, err = create1(c, w.table("d", "b"))
	w.ok(err)
	w.commit(c, tx)
	if s := w.Schema(); s.Table("d", "b") == nil || s.Generation() != before.Generation()+1 {
		t.Error("a committed change was not published")
	}
	if before.Table("d", "b") != nil {
		t.Error("an old picture changed")
	}
}

// Two changes at a time: both are kept, whichever ends first, and each sees the other as soon as it is published.
func TestChangesSideBySide(t *testing.T) {
	w := newWorld(t)
	w.with("d", "a", "b")
	c1, tx1 := w.begin()
	c2, tx2 := w.begin()
	_, err := create1(c1, w.table("d", "c"))
	w.ok(err)
	w.ok(remove(c1, "d", "a"))
	_, err = create1(c2, w.table("d", "e"))
	w.ok(err)
	w.ok(remove(c2, "d", "b"))
	if s := c1.Schema(); s.Table("d", "e") != nil || s.Table("d", "b") == nil {
		t.Errorf("the first change shows the second before its end: %s", describe(s))
	}
	w.commit(c2, tx2)
	if s := c1.Schema(); s.Table("d", "e") == nil || s.Table("d", "b") != nil || s.Table("d", "c") == nil {
		t.Errorf("the first change does not show the second: %s", describe(s))
	}
	w.commit(c1, tx1)
	var names []string
	for _, table := range w.Schema().Database("d").Tables() {
		names = append(names, table.Name)
	}
	if !slices.Equal(names, []string{"c", "e"}) {
		t.Errorf("tables are %v, want c and e", names)
	}
	before := w.Schema()
	w.reopen(true)
	same(t, w.Schema(), before)
}

// The engine keeps two creations of one name apart, without any metadata lock.
func TestOneNameTwice(t *testing.T) {
	for _, second := range []struct {
		name string
		do   func(w *world, c *Change) error
	}{
		{"table", func(w *world, c *Change) error { _, err := create1(c, w.table("d", "T")); return err }},
		{"view", func(w *world, c *Change) error { return c.PutView("d", View{Name: "T"}) }},
		{"rename", func(w *world, c *Change) error {
			r := c.Schema().Table("d", "r").Clone()
			r.Name = "T"
			_, err := c.PutTable(r)
			return err
		}},
	} {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprint(second.name, " commits=", commits), func(t *testing.T) {
				w := newWorld(t)
				w.with("d", "r")
				c1, tx1 := w.begin()
				_, err := create1(c1, w.table("d", "t"))
				w.ok(err)
				result := make(chan error)
				go func() { result <- w.change(func(c *Change) error { return second.do(w, c) }) }()
				if commits {
					w.commit(c1, tx1)
				} else {
					w.rollback(c1, tx1)
				}
				if err := <-result; errors.Is(err, ErrExists) != commits || err != nil && !commits {
					t.Errorf("the second got %v", err)
				}
			})
		}
	}
}

func TestConflicts(t *testing.T) {
	w := newWorld(t)
	w.with("d", "a", "b")
	old := w.Schema().Table("d", "a").Clone()
	w.ok(w.change(func(c *Change) error {
		a := old.Clone()
		a.Comment = "new"
		_, err := c.PutTable(a)
		return err
	}))
	for name, c := range map[string]struct {
		do   func(c *Change) error
		want error
	}{
		"an old definition":    {func(c *Change) error { _, err := c.PutTable(old.Clone()); return err }, ErrConflict},
		"a dropped one":        {func(c *Change) error { return after(remove(c, "d", "b"), c, w.Schema().Table("d", "b")) }, ErrConflict},
		"no database":          {func(c *Change) error { _, err := c.PutTable(w.table("x", "t")); return err }, ErrNotFound},
		"view, no database":    {func(c *Change) error { return c.PutView("x", View{Name: "v"}) }, ErrNotFound},
		"trigger, no database": {func(c *Change) error { return c.PutTrigger("x", Trigger{Name: "v"}) }, ErrNotFound},
		"drop no table":        {func(c *Change) error { return c.DropTable("d", "x") }, ErrNotFound},
		"drop no view":         {func(c *Change) error { return c.DropView("d", "a") }, ErrNotFound},
		"drop no event":        {func(c *Change) error { return c.DropEvent("d", "a") }, ErrNotFound},
		"drop no database":     {func(c *Change) error { return c.DropDatabase("x") }, ErrNotFound},
		"a taken name":         {func(c *Change) error { _, err := c.PutTable(w.table("d", "A")); return err }, ErrExists},
		"a view as a table":    {func(c *Change) error { return c.PutView("d", View{Name: "A"}) }, ErrExists},
		"too long a name":      {func(c *Change) error { _, err := c.PutTable(w.table("d", strings.Repeat("ä", 65))); return err }, ErrNameTooLong},
	} {
		before := w.Schema()
		if err := w.change(c.do); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if w.Schema() != before {
			t.Errorf("%s: it was published", name)
		}
	}
	w.ok(w.change(func(c *Change) error { return c.PutView("d", View{Name: strings.Repeat("ä", 64)}) }))
}

func after(err error, c *Change, t *Table) error {
	if err == nil {
		_, err = c.PutTable(t.Clone())
	}
	return err
}

// Tables that no table can be are refused before anything is written.
func TestImpossibleTables(t *testing.T) {
	w := newWorld(t)
	w.with("d")
	for name, damage := range map[string]func(*Table){
		"no id":            func(t *Table) { t.ID = 0 },
		"no storage":       func(t *Table) { t.Storage = 0 },
		"temporary":        func(t *Table) { t.Temporary = true },
		"no name":          func(t *Table) { t.Name = "" },
		"name not UTF-8":   func(t *Table) { t.Name = "\xff" },
		"no columns":       func(t *Table) { t.Columns, t.Primary = nil, nil },
		"column twice":     func(t *Table) { t.Columns[1].Name = "ID" },
		"no type":          func(t *Table) { t.Columns[1].Type = nil },
		"odd type":         func(t *Table) { t.Columns[1].Type = types.CreateTuple(types.Int8) },
		"virtual nothing":  func(t *Table) { t.Columns[1].Virtual = true },
		"key beyond":       func(t *Table) { t.Primary = []Part{{Column: 2}} },
		"key twice":        func(t *Table) { t.Primary = []Part{{Column: 0}, {Column: 0}} },
		"prefix of number": func(t *Table) { t.Primary = []Part{{Column: 0, Prefix: 3}} },
		"index, no id":     func(t *Table) { t.Indexes = []Index{{Name: "x", Parts: []Part{{Column: 1}}}} },
		"index, no parts":  func(t *Table) { t.Indexes = []Index{{Name: "x", ID: 9}} },
		"no counter":       func(t *Table) { t.Columns[0].AutoIncrement = true },
		"counting text":    func(t *Table) { t.Columns[1].AutoIncrement, t.Counter = true, 7 },
		"check, no name":   func(t *Table) { t.Checks = []Check{{}} },
		"half foreign key": func(t *Table) { t.ForeignKeys = []ForeignKey{{Name: "f", Columns: []string{"id"}}} },
	} {
		table := w.table("d", "t")
		damage(table)
		if err := w.change(func(c *Change) error { _, err := c.PutTable(table); return err }); err == nil {
			t.Errorf("%s: it was stored", name)
		}
	}
}

func TestMarks(t *testing.T) {
	w := newWorld(t)
	w.with("d", "a")
	c, tx := w.begin()
	a := c.Schema().Table("d", "a").Clone()
	a.Comment = "one"
	a, err := c.PutTable(a)
	w.ok(err)
	mark, save := c.Mark(), tx.Savepoint()
	b := a.Clone()
	b.Name, b.Comment = "b", "two"
	_, err = c.PutTable(b)
	w.ok(err)
	_, err = create1(c, w.table("d", "a"))
	w.ok(err)
	w.ok(tx.RollbackTo(save))
	c.RollbackTo(mark)
	if s := c.Schema(); s.Table("d", "b") != nil || s.Table("d", "a").Comment != "one" {
		t.Errorf("after the return: %s", describe(s))
	}
	b.Comment = "three"
	_, err = c.PutTable(b)
	w.ok(err)
	w.commit(c, tx)
	if s := w.Schema(); s.Table("d", "a") != nil || s.Table("d", "b").Comment != "three" || s.Table("d", "b").ID != a.ID {
		t.Errorf("published: %s", describe(s))
	}
	before := w.Schema()
	w.reopen(false)
	same(t, w.Schema(), before)
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.with("d", "a", "b")
	w.with("e")
	rename := func(c *Change, database, from, toDatabase, to string) {
		table := c.Schema().Table(database, from).Clone()
		table.Database, table.Name = toDatabase, to
		_, err := c.PutTable(table)
		w.ok(err)
	}
	a, b := w.Schema().Table("d", "a"), w.Schema().Table("d", "b")
	w.ok(w.change(func(c *Change) error { // as RENAME TABLE a TO x, b TO a, x TO b
		rename(c, "d", "a", "d", "x")
		rename(c, "d", "b", "d", "a")
		rename(c, "d", "x", "d", "b")
		return nil
	}))
	w.sound()
	if s := w.Schema(); s.Table("d", "a").ID != b.ID || s.Table("d", "b").ID != a.ID || s.Table("d", "x") != nil {
		t.Errorf("not swapped: %s", describe(s))
	}
	w.ok(w.change(func(c *Change) error {
		rename(c, "d", "a", "e", "far")
		rename(c, "d", "b", "d", "B")
		return nil
	}))
	w.sound()
	s := w.Schema()
	if far := s.Table("e", "far"); far.ID != b.ID || far.RowTree() != b.RowTree() || s.Table("d", "b").Name != "B" || s.Table("d", "a") != nil {
		t.Errorf("not moved: %s", describe(s))
	}
	w.reopen(false)
	same(t, w.Schema(), s)
}

func TestReferences(t *testing.T) {
	w := newWorld(t)
	w.with("d", "parent", "child")
	names := func(s *Schema, table string) (list []string) {
		for _, fk := range s.ReferencedBy("D", table) {
			list = append(list, fk.Table+"."+fk.Name)
		}
		return list
	}
	set := func(table string, fks ...ForeignKey) {
		w.ok(w.change(func(c *Change) error {
			clone := c.Schema().Table("d", table).Clone()
			clone.ForeignKeys = fks
			_, err := c.PutTable(clone)
			return err
		}))
	}
	fk := func(name, parent string) ForeignKey {
		return ForeignKey{
			Name: name, Columns: []string{"id"}, ParentDatabase: "d", ParentTable: parent, ParentColumns: []string{"id"}, IsResolved: parent != "later",
		}
	}
	set("child", fk("f2", "Parent"), fk("f1", "parent"), fk("f3", "later"))
	set("parent", fk("self", "parent"))
	first := w.Schema()
	if got := names(first, "PARENT"); !slices.Equal(got, []string{"child.f1", "child.f2", "parent.self"}) {
		t.Errorf("parent is referenced by %v", got)
	}
	set("child", fk("f1", "parent"))
	second := w.Schema()
	for _, more := range []string{"g", "f9", "e", "a0"} {
		set("parent", append(w.Schema().Table("d", "parent").Clone().ForeignKeys, fk(more, "parent"))...)
		set("child", append(w.Schema().Table("d", "child").Clone().ForeignKeys, fk(more, "parent"))...)
	}
	if got := names(second, "parent"); !slices.Equal(got, []string{"child.f1", "parent.self"}) {
		t.Errorf("an old picture changed: %v", got)
	}
	set("child", fk("f1", "parent"))
	set("parent", fk("self", "parent"))
	for range 2 {
		third := w.Schema()
		w.ok(w.change(func(c *Change) error { // its reference comes before the others
			early := w.table("d", "adopted")
			early.ForeignKeys = []ForeignKey{fk("f", "parent")}
			_, err := create1(c, early)
			return err
		}))
		if got := names(third, "parent"); !slices.Equal(got, []string{"child.f1", "parent.self"}) {
			t.Errorf("an old picture changed: %v", got)
		}
		w.ok(w.change(func(c *Change) error { return remove(c, "d", "adopted") }))
	}
	w.ok(w.change(func(c *Change) error { // GMS renames a parent like this
		child, parent := c.Schema().Table("d", "child").Clone(), c.Schema().Table("d", "parent").Clone()
		parent.Name, parent.ForeignKeys[0].ParentTable, child.ForeignKeys[0].ParentTable = "p2", "p2", "p2"
		_, err1 := c.PutTable(parent)
		_, err2 := c.PutTable(child)
		return errors.Join(err1, err2)
	}))
	if got := names(w.Schema(), "parent"); got != nil {
		t.Errorf("the old name is referenced by %v", got)
	}
	if got := names(w.Schema(), "p2"); !slices.Equal(got, []string{"child.f1", "p2.self"}) {
		t.Errorf("p2 is referenced by %v", got)
	}
	if got := names(first, "parent"); !slices.Equal(got, []string{"child.f1", "child.f2", "parent.self"}) {
		t.Errorf("an old picture changed: %v", got)
	}
	w.ok(w.change(func(c *Change) error { return remove(c, "d", "child") }))
	if got := names(w.Schema(), "p2"); !slices.Equal(got, []string{"p2.self"}) {
		t.Errorf("p2 is referenced by %v", got)
	}
}

func TestDropDatabase(t *testing.T) {
	w := newWorld(t)
	w.with("d", "a")
	w.with("e", "a")
	empty := w.Schema().Database("e")
	w.ok(w.change(func(c *Change) error {
		_, err := create1(c, w.rich("d", "rich"))
		return errors.Join(err, c.PutView("d", View{Name: "v"}), c.PutTrigger("d", Trigger{Name: "x"}), c.PutProcedure("d", Procedure{Name: "x"}),
			c.PutEvent("d", Event{Name: "x"}), c.PutDatabase("d", gms.Collation_latin1_bin, "changed"))
	}))
	if db := w.Schema().Database("d"); db.Comment != "changed" || db.Collation != gms.Collation_latin1_bin || db.View("v") == nil {
		t.Errorf("the database is %+v", db)
	}
	w.ok(w.change(func(c *Change) error {
		for _, table := range c.Schema().Database("d").Tables() {
			for _, tree := range table.Trees() {
				w.ok(c.tx.DropTree(tree))
			}
		}
		return c.DropDatabase("D")
	}))
	s := w.Schema()
	if s.Database("d") != nil || s.Database("e") != empty || s.ReferencedBy("other", "parent") != nil {
		t.Errorf("left: %s", describe(s))
	}
	w.reopen(true)
	same(t, w.Schema(), s)
	w.with("d", "a") // the name is free, with everything below it
}

// Without the metadata lock that should keep them apart: a database is not dropped under what somebody is putting into it.
func TestDropDatabaseUnderAnother(t *testing.T) {
	for name, put := range map[string]func(w *world, c *Change) error{
		"table":     func(w *world, c *Change) error { _, err := create1(c, w.table("d", "t")); return err },
		"view":      func(w *world, c *Change) error { return c.PutView("d", View{Name: "t"}) },
		"trigger":   func(w *world, c *Change) error { return c.PutTrigger("d", Trigger{Name: "t"}) },
		"procedure": func(w *world, c *Change) error { return c.PutProcedure("d", Procedure{Name: "t"}) },
		"event":     func(w *world, c *Change) error { return c.PutEvent("d", Event{Name: "t"}) },
	} {
		w := newWorld(t)
		w.with("d")
		c, tx := w.begin()
		w.ok(put(w, c))
		result := make(chan error)
		go func() { result <- w.change(func(c *Change) error { return c.DropDatabase("d") }) }()
		w.ok(tx.Commit(context.Background()))
		if err := <-result; !errors.Is(err, ErrConflict) {
			t.Errorf("%s: dropping the database gave %v", name, err)
		}
		c.Committed()
	}
}

func TestIDsNeverRepeat(t *testing.T) {
	w := newWorld(t)
	var last uint64
	for round := range 6 {
		for range idBatch/2 + 7 {
			id := w.id()
			if id <= last {
				t.Fatalf("round %d: id %d after %d", round, id, last)
			}
			last = id
		}
		w.reopen(round%2 == 0)
	}
}

func TestDroppedWithoutAnEnd(t *testing.T) {
	t.Parallel() // Close gives the open transaction some seconds
	w := newWorld(t)
	w.with("d", "a")
	before := w.Schema()
	c, _ := w.begin() // its transaction is neither committed nor rolled back
	b := w.table("d", "b")
	b.Columns[0].AutoIncrement, b.Counter = true, w.id()
	b, err := create1(c, b)
	w.ok(err)
	w.ok(remove(c, "d", "a"))
	_, err = w.NextAuto(context.Background(), b, 0, 1, 1) // leaves a reservation that nobody takes back
	w.ok(err)
	w.reopen(false)
	same(t, w.Schema(), before)
	w.sound()
	w.ok(w.change(func(c *Change) error { return remove(c, "d", "a") }))
}

// Records that cannot be read are named; so is what to do about those of a newer version.
func TestUnreadableRecords(t *testing.T) {
	for name, c := range map[string]struct {
		key, value, want string
	}{
		"newer dictionary": {"format", `{"format":2}`, "start the newer hearth"},
		"newer table":      {"table/%016x", `{"format":99,"what":"ever"}`, "start the newer hearth"},
		"no json":          {"table/%016x", `{"format":1,`, "is damaged"},
		"no format":        {"table/%016x", `{}`, "has no format"},
		"unknown field":    {"table/%016x", `{"format":1,"colour":"red"}`, "colour"},
		"empty table":      {"table/%016x", `{"format":1}`, "no database"},
		"unknown kind":     {"tablet/1", `{"format":1}`, "no kind"},
		"view of nothing":  {"view/00000000000000ff/v", `{"format":1}`, "no database"},
		"bad key":          {"view/x", `{"format":1}`, "key"},
		"wrong key":        {"database/00000000000000aa", `{"format":1,"id":7,"name":"q"}`, "belongs under"},
		"bad text":         {"users", `{"format":1,"data":"%"}`, "is damaged"},
		"bad id":           {"id", `{"format":1,"id":-1}`, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.with("d", "a")
			key := c.key
			if strings.Contains(key, "%") {
				key = fmt.Sprintf(key, w.Schema().Table("d", "a").ID)
			}
			w.ok(w.db.Update(context.Background(), func(tx *hearth.Tx) error {
				tree, err := tx.Tree(dictionaryTree)
				w.ok(err)
				return tree.Put([]byte(key), []byte(c.value))
			}))
			_, err := Open(context.Background(), w.db)
			var record *RecordError
			if !errors.As(err, &record) || record.Key != key || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want the key %s and %q", err, key, c.want)
			}
			if findings := w.Check(context.Background()); len(findings) != 1 || findings[0] != err.Error() {
				t.Errorf("check says %q", findings)
			}
			w.ok(w.db.Close())
			w.db = nil
		})
	}
}
