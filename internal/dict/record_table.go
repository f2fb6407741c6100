package dict

import (
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
)

type tableRecord struct {
	versioned
	ID           uint64             `json:"id"`
	Version      uint64             `json:"version"`
	Database     uint64             `json:"database"`
	Name         text               `json:"name"`
	Collation    string             `json:"collation,omitempty"`
	Comment      text               `json:"comment,omitempty"`
	Storage      uint64             `json:"storage"`
	Counter      uint64             `json:"counter,omitempty"`
	CounterStart uint64             `json:"counter_start,omitempty"`
	Columns      []columnRecord     `json:"columns"`
	Primary      []partRecord       `json:"primary,omitempty"`
	Indexes      []indexRecord      `json:"indexes,omitempty"`
	Checks       []checkRecord      `json:"checks,omitempty"`
	ForeignKeys  []foreignKeyRecord `json:"foreign_keys,omitempty"`
}

type columnRecord struct {
	Name          text              `json:"name"`
	Type          typeRecord        `json:"type"`
	Nullable      bool              `json:"nullable,omitempty"`
	AutoIncrement bool              `json:"auto_increment,omitempty"`
	Default       *expressionRecord `json:"default,omitempty"`
	Generated     *expressionRecord `json:"generated,omitempty"`
	Virtual       bool              `json:"virtual,omitempty"`
	OnUpdate      *expressionRecord `json:"on_update,omitempty"`
	Comment       text              `json:"comment,omitempty"`
	Extra         text              `json:"extra,omitempty"`
}

type expressionRecord struct {
	Text          text `json:"text"`
	Literal       bool `json:"literal,omitempty"`
	Parenthesized bool `json:"parenthesized,omitempty"`
	ReturnNil     bool `json:"return_nil,omitempty"`
}

type partRecord struct {
	Column int    `json:"column"`
	Prefix uint16 `json:"prefix,omitempty"`
}

type indexRecord struct {
	ID        uint64       `json:"id"`
	Name      text         `json:"name"`
	Parts     []partRecord `json:"parts"`
	Unique    bool         `json:"unique,omitempty"`
	Generated bool         `json:"generated,omitempty"`
	Comment   text         `json:"comment,omitempty"`
}

type checkRecord struct {
	Name     text `json:"name"`
	Text     text `json:"text"`
	Enforced bool `json:"enforced"`
}

type foreignKeyRecord struct {
	Name           text   `json:"name"`
	Columns        []text `json:"columns"`
	ParentDatabase text   `json:"parent_database"`
	ParentTable    text   `json:"parent_table"`
	ParentColumns  []text `json:"parent_columns"`
	OnUpdate       string `json:"on_update"`
	OnDelete       string `json:"on_delete"`
	Resolved       bool   `json:"resolved,omitempty"`
}

// recordOf makes the record of t, which is in the database of that id.
func recordOf(t *Table, database uint64) (tableRecord, error) {
	r := tableRecord{
		versioned: versioned{format},
		ID:        t.ID, Version: t.Version, Database: database, Name: text(t.Name),
		Collation: t.Collation.Name(), Comment: text(t.Comment),
		Storage: t.Storage, Counter: t.Counter, CounterStart: t.CounterStart,
		Primary: partRecords(t.Primary),
	}
	for _, c := range t.Columns {
		typ, err := encodeType(c.Type)
		if err != nil {
			return r, fmt.Errorf("column %s: %w", c.Name, err)
		}
		r.Columns = append(r.Columns, columnRecord{
			Name: text(c.Name), Type: typ, Nullable: c.Nullable, AutoIncrement: c.AutoIncrement, Virtual: c.Virtual,
			Default: expressionRecordOf(c.Default), Generated: expressionRecordOf(c.Generated), OnUpdate: expressionRecordOf(c.OnUpdate),
			Comment: text(c.Comment), Extra: text(c.Extra),
		})
	}
	for _, x := range t.Indexes {
		r.Indexes = append(r.Indexes, indexRecord{x.ID, text(x.Name), partRecords(x.Parts), x.Unique, x.Generated, text(x.Comment)})
	}
	for _, k := range t.Checks {
		r.Checks = append(r.Checks, checkRecord{text(k.Name), text(k.CheckExpression), k.Enforced})
	}
	for _, fk := range t.ForeignKeys {
		r.ForeignKeys = append(r.ForeignKeys, foreignKeyRecord{
			Name: text(fk.Name), Columns: textsOf(fk.Columns),
			ParentDatabase: text(fk.ParentDatabase), ParentTable: text(fk.ParentTable), ParentColumns: textsOf(fk.ParentColumns),
			OnUpdate: string(fk.OnUpdate), OnDelete: string(fk.OnDelete), Resolved: fk.IsResolved,
		})
	}
	return r, nil
}

// table makes the table of r, which is in the database of that name.
func (r *tableRecord) table(database string) (*Table, error) {
	collation, err := gms.ParseCollation("", r.Collation, false)
	if err != nil {
		return nil, err
	}
	t := &Table{
		ID: r.ID, Version: r.Version, Database: database, Name: string(r.Name), Collation: collation, Comment: string(r.Comment),
		Storage: r.Storage, Counter: r.Counter, CounterStart: r.CounterStart, Primary: partsOf(r.Primary),
	}
	for _, c := range r.Columns {
		typ, err := c.Type.decode()
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		t.Columns = append(t.Columns, Column{
			Name: string(c.Name), Type: typ, Nullable: c.Nullable, AutoIncrement: c.AutoIncrement, Virtual: c.Virtual,
			Default: c.Default.expression(), Generated: c.Generated.expression(), OnUpdate: c.OnUpdate.expression(),
			Comment: string(c.Comment), Extra: string(c.Extra),
		})
	}
	for _, x := range r.Indexes {
		t.Indexes = append(t.Indexes, Index{x.ID, string(x.Name), partsOf(x.Parts), x.Unique, x.Generated, string(x.Comment)})
	}
	for _, k := range r.Checks {
		t.Checks = append(t.Checks, Check{Name: string(k.Name), CheckExpression: string(k.Text), Enforced: k.Enforced})
	}
	for _, fk := range r.ForeignKeys {
		t.ForeignKeys = append(t.ForeignKeys, ForeignKey{
			Name: string(fk.Name), Database: database, Table: t.Name, Columns: stringsOf(fk.Columns),
			ParentDatabase: string(fk.ParentDatabase), ParentTable: string(fk.ParentTable), ParentColumns: stringsOf(fk.ParentColumns),
			OnUpdate: gms.ForeignKeyReferentialAction(fk.OnUpdate), OnDelete: gms.ForeignKeyReferentialAction(fk.OnDelete),
			IsResolved: fk.Resolved,
		})
	}
	return t, t.validate()
}

func expressionRecordOf(e *Expression) *expressionRecord {
	if e == nil {
		return nil
	}
	return &expressionRecord{text(e.Text), e.Literal, e.Parenthesized, e.ReturnNil}
}

func (r *expressionRecord) expression() *Expression {
	if r == nil {
		return nil
	}
	return &Expression{string(r.Text), r.Literal, r.Parenthesized, r.ReturnNil}
}

func partRecords(parts []Part) []partRecord {
	var list []partRecord
	for _, p := range parts {
		list = append(list, partRecord(p))
	}
	return list
}

func partsOf(list []partRecord) []Part {
	var parts []Part
	for _, p := range list {
		parts = append(parts, Part(p))
	}
	return parts
}
