package main

import (
	"fmt"
	"runtime/debug"
)

type versionVerb struct{}

// Run prints what the Go toolchain recorded of the source this binary was built from.
func (versionVerb) Run() error {
	version, goVersion, revision := "(devel)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version, goVersion = info.Main.Version, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	_, err := fmt.Printf("hearth %s%s %s\n", version, revision, goVersion)
	return err
}
