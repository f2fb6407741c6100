// Package heat keeps the list of wanted pages on the disk, and loads it after a start.
package heat
