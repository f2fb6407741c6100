package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// configFile is a file of lines "name = value", where names are those of flags without the dashes. Blank lines, lines that begin
// with # or ; and [sections] count for nothing, so that the file may look like a my.cnf.
type configFile map[string]string

// loadConfig is a kong.ConfigurationLoader.
func loadConfig(r io.Reader) (kong.Resolver, error) {
	c := configFile{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.ContainsRune("#;[", rune(line[0])) {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true"
		}
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		if _, twice := c[name]; twice {
			return nil, fmt.Errorf("line %d: %q is there twice", n, name)
		}
		c[name] = unquote(strings.TrimSpace(value))
	}
	return c, lines.Err()
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// Validate implements kong.Resolver: every name must be one of a flag of the verb.
func (c configFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, verb := range app.Children {
		if verb.Name == serveName {
			for _, f := range verb.Flags {
				known[f.Name] = true
			}
		}
	}
	for name := range c {
		if !known[name] {
			return fmt.Errorf("configuration file: there is no %q", name)
		}
	}
	return nil
}

// Resolve implements kong.Resolver. The environment goes before the file, and the command line before both.
func (c configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	if v, ok := c[flag.Name]; ok {
		return v, nil
	}
	return nil, nil
}

// serveName is the verb that has a configuration file.
const serveName = "serve"

// notInConfig are flags that make no sense in the file.
var notInConfig = map[string]bool{"config": true, "print-config": true, "help": true}

// printConfig writes the file that says what the flags, the environment and the file given say together.
func printConfig(w io.Writer, k *kong.Context) error {
	for _, f := range k.Selected().Flags {
		if notInConfig[f.Name] {
			continue
		}
		value := fmt.Sprint(k.FlagValue(f))
		comment := ""
		if value == "" || value == "0" && f.PlaceHolder != "" {
			comment = "# " // has a default that depends on others
		}
		if _, err := fmt.Fprintf(w, "# %s\n%s%s = %s\n", f.Help, comment, f.Name, value); err != nil {
			return err
		}
	}
	return nil
}
