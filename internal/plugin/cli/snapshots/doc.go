// Package snapshots holds the commands that take, list, verify, restore, download and import snapshots.
package snapshots
