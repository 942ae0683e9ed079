// Package dbfile inspects, verifies and restores etcd snapshots in files. Only it, internal/archive/replay and
// internal/archive/standby, which write an archive into such a file, and internal/datadir, which applies a write-ahead log to it, import etcdutl or
// etcd's server code.
//
// A snapshot is the member's bbolt database followed by its SHA-256. The checks in this package read the file with explicit
// bounds. bbolt itself maps the file into memory and trusts it, so a damaged page can end the process in a goroutine that
// cannot recover. Only a file that passed the checks is given to etcdutl.
package dbfile

import "errors"

// contentError is an error about the content of a file.
type contentError string

func (e contentError) Error() string { return string(e) }

// OfObject tells objstore.OfObject that the error concerns one object of a store.
func (contentError) OfObject() bool { return true }

var (
	// ErrNoTrailer means that the file does not end with the SHA-256 of its content: its end is missing, or it was copied
	// from a data directory, so that it cannot be verified.
	ErrNoTrailer error = contentError("no SHA-256 trailer: the file is truncated, or a copy of member/snap/db in a data directory and not a snapshot")
	// ErrCorrupt means that the content of the file has changed since it was written.
	ErrCorrupt error = contentError("the snapshot is corrupt")
	// ErrTooLarge means that the check of the file needs more memory than it may use. The next check would need as much.
	ErrTooLarge error = contentError("the check of the snapshot needs too much memory")
	// ErrNotChecked means that the process of the check could not run. It says nothing about the file.
	ErrNotChecked = errors.New("the check of the snapshot did not run")
)
