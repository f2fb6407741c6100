package chart

import "image/color"

// theme is a set of colours for one kind of paper.
type theme struct {
	suffix                string // of file names
	paper, ink, soft, net color.Color
	series                map[Color]color.Color
}

// Color names the colour of a system or case, the same in every picture.
type Color string

// The colours in use.
const (
	Hearth  Color = "hearth"  // hearth, its memory kept
	Dump    Color = "dump"    // restored from a dump
	Cold    Color = "cold"    // nothing restored
	InnoDB  Color = "innodb"  // MariaDB's InnoDB
	MyRocks Color = "myrocks" // MariaDB's MyRocks
	// Full scans instead of a dump.
	HearthScan Color = "hearth-scan"
	InnoDBScan Color = "innodb-scan"
	Other      Color = "other" // whatever is none of these: a counter beside a line
)

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

var themes = []theme{
	{
		suffix: "", paper: rgb(0xffffff), ink: rgb(0x1b1f24), soft: rgb(0x57606a), net: rgb(0xe3e7eb),
		series: map[Color]color.Color{
			Hearth: rgb(0xd9480f), Dump: rgb(0x1c7ed6), Cold: rgb(0x868e96), InnoDB: rgb(0x2b8a3e), MyRocks: rgb(0x862e9c), Other: rgb(0x57606a),
			HearthScan: rgb(0xe599a7), InnoDBScan: rgb(0xb08900),
		},
	},
	{
		suffix: "-dark", paper: rgb(0x0d1117), ink: rgb(0xe6edf3), soft: rgb(0x9ea7b3), net: rgb(0x21262d),
		series: map[Color]color.Color{
			Hearth: rgb(0xff922b), Dump: rgb(0x4dabf7), Cold: rgb(0xadb5bd), InnoDB: rgb(0x69db7c), MyRocks: rgb(0xda77f2), Other: rgb(0x9ea7b3),
			HearthScan: rgb(0xf7a8b8), InnoDBScan: rgb(0xffe066),
		},
	},
}
