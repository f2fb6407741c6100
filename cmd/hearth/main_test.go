package main

import "testing"

// Every verb can be asked for, with the flags that all measuring verbs share.
func TestCommandLine(t *testing.T) {
	shared := []string{"--quick", "--json", "--dir", "somewhere", "--seed", "7"}
	for _, args := range [][]string{
		{"version"},
		{"check", "--data", "somewhere", "--pool", "64MiB"},
		{"warm", "dump", "--data", "somewhere", "--percent", "25", "--file", "list.heat"},
		{"warm", "load", "--data", "somewhere", "--order", "physical", "--no-wait", "--json"},
		{"warm", "status", "--data", "somewhere", "--follow"},
		{"heat", "show", "list.heat", "--json"},
		{"heat", "verify", "list.heat"},
		append([]string{"bench", "engine", "--systems", "hearth,bbolt", "--threads", "1"}, shared...),
		append([]string{"bench", "warmth", "--parts", "heat,dump-stall", "--size", "1GiB"}, shared...),
		append([]string{"bench", "attach", "--pools", "1GiB,2GiB"}, shared...),
		append([]string{"torture", "--kills", "10", "--pool", "8MiB", "--rows", "100", "--durability", "process"}, shared...),
		append([]string{"torture", "engine", "--kills", "10"}, shared...),
		append([]string{"torture", "sql", "--kills", "10", "--pool", "8MiB", "--clients", "3", "--durability", "process"}, shared...),
	} {
		if _, err := newParser().Parse(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, args := range [][]string{{"nothing"}, {"check"}, {"bench", "engine", "--parts", "nothing"}, {"torture", "--durability", "none"}, {"torture", "sql", "--canary", "none"}} {
		if _, err := newParser().Parse(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
