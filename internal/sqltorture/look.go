package sqltorture

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// seen is what a start found, in one snapshot.
type seen struct {
	stamps   []uint64
	accounts [accounts]int64
	rows     [tables]map[uint64]string
	codes    [2]map[uint64]string // of parents, and of children in kid_cascade
	layouts  []layout
	sites    map[string]map[uint64]siteSeen // by name
}

type siteSeen struct {
	value       int64
	born, extra int
}

// way is a table, and conditions that all its rows meet, each by another index.
type way struct {
	table, columns string
	conditions     []string
	unique         []int // of the columns: each may have a value once, NULL aside
}

func (w way) query(condition string) string {
	text := "SELECT " + w.columns + " FROM " + w.table
	if condition != "" {
		text += " WHERE " + condition
	}
	return text
}

// ways to the rows of tables that are always there.
func ways() []way {
	all := []way{
		{"stamp", "client, seq", nil, []int{0}},
		{"slot", "client, no, seq, tag, size, word", []string{"client >= 0 ORDER BY client DESC, no DESC", "seq >= 0", "size >= 0", "word >= ''"}, nil},
		{"mirror", "client, no, seq", []string{"client >= 0", "seq >= 0 ORDER BY seq"}, nil},
		{"claim", "id, name, code", []string{"name >= '' ORDER BY name", "code >= 0 OR code IS NULL", "id > 0 ORDER BY id DESC"}, []int{0, 1, 2}},
		{"ticket", "id, client, seq, n", []string{"client >= 0", "id > 0 ORDER BY id DESC"}, []int{0}},
		{"parent", "id, code", []string{"code >= 0", "id > 0"}, []int{0, 1}},
		{"kid_cascade", "id, parent, code", []string{"parent >= 0", "code >= 0"}, []int{0}},
		{"kid_null", "id, parent", []string{"parent >= 0 OR parent IS NULL"}, []int{0}},
		{"kid_restrict", "id, parent", []string{"parent >= 0 ORDER BY parent DESC"}, []int{0}},
	}
	for b := range banks {
		all = append(all, way{account(b * accountsPerBank).bank(), "id, owner, balance, touched",
			[]string{"owner >= ''", "balance >= -1000000000", "touched >= 0 ORDER BY touched DESC"}, []int{0, 1}})
	}
	return all
}

// looker reads everything, and finds what contradicts itself.
type looker struct {
	ctx   context.Context
	link  *link
	found *findings
	seen  *seen
}

// look reads everything in one snapshot. An error means that it did not get through.
func look(ctx context.Context, l *link, clients int, found *findings) (*seen, error) {
	ctx, cancel := statement(ctx)
	defer cancel()
	k := &looker{ctx, l, found, &seen{stamps: make([]uint64, clients), sites: map[string]map[uint64]siteSeen{}}}
	if _, err := l.conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return nil, err
	}
	for _, w := range ways() {
		rows, err := k.read(w)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.table, err)
		}
		if err := k.take(w.table, rows); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.table, err)
		}
	}
	if err := k.bodies(); err != nil {
		return nil, err
	}
	if err := k.lookAtSites(); err != nil {
		return nil, err
	}
	_, err := l.conn.ExecContext(ctx, "COMMIT")
	return k.seen, err
}

// read reads a table by all ways, holds them against each other, and has the server check it.
func (k *looker) read(w way) ([][]string, error) {
	rows, err := k.link.query(k.ctx, w.query(""))
	if err != nil {
		return nil, err
	}
	k.unique(w, "a scan", rows)
	want := asSet(rows)
	for _, condition := range w.conditions {
		others, err := k.link.query(k.ctx, w.query(condition))
		if err != nil {
			return nil, err
		}
		k.unique(w, condition, others)
		if got := asSet(others); !slices.Equal(got, want) {
			k.found.torn("%s where %s: %d rows, a scan has %d; first difference: %s", w.table, condition, len(got), len(want), difference(got, want))
		}
	}
	check, err := k.link.query(k.ctx, "CHECK TABLE "+w.table)
	if err != nil {
		return nil, err
	}
	if len(check) != 1 || check[0][3] != "OK" {
		k.found.torn("CHECK TABLE %s: %v", w.table, check)
	}
	return rows, nil
}

// unique: no column that must be unique has a value twice.
func (k *looker) unique(w way, by string, rows [][]string) {
	for _, column := range w.unique {
		first := map[string]bool{}
		for _, r := range rows {
			v := plain(r[column])
			if first[v] && v != plain(null) {
				k.found.duplicate("%s by %s: %q is in column %d twice", w.table, by, r[column], column)
			}
			first[v] = true
		}
	}
}

// plain is a value without what the collation of the names does not look at.
func plain(v string) string { return strings.ReplaceAll(strings.ToLower(v), "é", "e") }

func asSet(rows [][]string) []string {
	var all []string
	for _, r := range rows {
		all = append(all, strings.Join(r, " | "))
	}
	slices.Sort(all)
	return all
}

// difference is the first line that one of two sorted lists has and the other has not.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got), i < len(want) && want[i] < got[i]:
			return "missing " + want[i]
		case i >= len(want), got[i] < want[i]:
			return "besides " + got[i]
		}
	}
	return "none"
}

// take sorts rows into what was seen.
func (k *looker) take(table string, rows [][]string) error {
	s := k.seen
	if t := slices.Index(tableNames[:], table); t >= 0 {
		s.rows[t] = map[uint64]string{}
	}
	for _, r := range rows {
		n, err := numbers(table, r)
		if err != nil {
			return err
		}
		switch table {
		case "stamp":
			if n[0] >= uint64(len(s.stamps)) {
				k.found.torn("there is a stamp of client %d", n[0])
				continue
			}
			s.stamps[n[0]] = n[1]
		case "slot":
			k.put(slots, rowKey(int(n[0]), n[1]), strings.Join(r[2:5], " "))
			if want := (slot{n[3], int(n[4])}).word(); r[5] != want {
				k.found.torn("slot %s: word %q, want %q", r[1], r[5], want)
			}
		case "mirror":
			k.put(mirrors, rowKey(int(n[0]), n[1]), r[2])
		case "claim":
			k.put(claims, n[0], claimValue(int(n[1]), r[2]))
		case "ticket":
			k.put(tickets, n[0], strings.Join(r[1:], " "))
		case "parent":
			k.put(parents, n[0], parentValue)
		case "kid_cascade":
			k.put(kidsCascade, n[0], r[1])
		case "kid_null":
			if r[1] == null {
				r[1] = noParent
			}
			k.put(kidsNull, n[0], r[1])
		case "kid_restrict":
			k.put(kidsRestrict, n[0], r[1])
		default:
			bank := int(table[len(table)-1] - 'a')
			balance, err := strconv.ParseInt(r[2], 10, 64)
			if err != nil || n[0] >= accountsPerBank {
				return fmt.Errorf("account %v: %w", r, err)
			}
			s.accounts[bank*accountsPerBank+int(n[0])] = balance
		}
	}
	if table == "parent" || table == "kid_cascade" {
		codes := map[uint64]string{}
		for _, r := range rows {
			id, err := strconv.ParseUint(r[0], 10, 64)
			if err != nil {
				return err
			}
			codes[id] = r[len(r)-1]
		}
		k.seen.codes[map[string]int{"parent": 0, "kid_cascade": 1}[table]] = codes
	}
	return nil
}

func (k *looker) put(t tableNo, key uint64, value string) {
	if old, twice := k.seen.rows[t][key]; twice {
		k.found.duplicate("%s: row %d is there twice, %q and %q", t, key, old, value)
	}
	k.seen.rows[t][key] = value
}

// numbers reads those columns of a row that are numbers; of a name, the last word is one. Others are 0.
func numbers(table string, r []string) ([]uint64, error) {
	n := make([]uint64, len(r))
	for i, v := range r {
		if v == null || strings.HasPrefix(v, "-") {
			continue
		}
		if j := strings.LastIndexByte(v, ' '); j >= 0 {
			if v = v[j+1:]; table == "slot" {
				continue
			}
		}
		var err error
		if n[i], err = strconv.ParseUint(v, 10, 64); err != nil {
			return nil, fmt.Errorf("%s %q: %w", table, r, err)
		}
	}
	return n, nil
}

// bodies of slots follow from their tags.
func (k *looker) bodies() error {
	rows, err := k.link.query(k.ctx, "SELECT client, no, tag, size, body FROM slot")
	if err != nil {
		return err
	}
	for _, r := range rows {
		n, err := numbers("slot", r[:4])
		if err != nil {
			return err
		}
		if want := (slot{n[2], int(n[3])}).body(); !bytes.Equal([]byte(r[4]), want) {
			k.found.torn("slot %s of client %s: its body has %d bytes, want the %d of tag %s", r[1], r[0], len(r[4]), len(want), r[2])
		}
	}
	return nil
}

func (k *looker) lookAtSites() error {
	var err error
	if k.seen.layouts, err = readLayouts(k.ctx, k.link); err != nil {
		return fmt.Errorf("read definitions: %w", err)
	}
	for _, l := range k.seen.layouts {
		for name, s := range l {
			w := way{name, "id, value, born", []string{"id > 0 ORDER BY id DESC", "value >= 0", "born >= 0"}, []int{0}}
			if s.extra != 0 {
				w.columns += ", extra"
			}
			rows, err := k.read(w)
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			k.seen.sites[name] = map[uint64]siteSeen{}
			for _, r := range rows {
				n, err := numbers(name, r)
				if err != nil {
					return err
				}
				x := siteSeen{value: int64(n[1]), born: int(n[2])}
				if s.extra != 0 {
					x.extra = int(n[3])
				}
				k.seen.sites[name][n[0]] = x
			}
		}
	}
	return nil
}
