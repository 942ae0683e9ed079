// Package dbfile inspects, verifies and restores etcd snapshots in files. Only it and internal/archive/replay, which
// replays an archive into such a file, import etcdutl or etcd's server code.
//
// A snapshot is the member's bbolt database followed by its SHA-256. The checks in this package read the file with explicit
// bounds. bbolt itself maps the file into memory and trusts it, so a damaged page can end the process in a goroutine that
// cannot recover. Only a file that passed the checks is given to etcdutl.
package dbfile

import "errors"

var (
	// ErrNoTrailer means that the file does not end with the SHA-256 of its content: its end is missing, or it was copied
	// from a data directory, so that it cannot be verified.
	ErrNoTrailer = errors.New("no SHA-256 trailer: the file is truncated, or a copy of member/snap/db in a data directory and not a snapshot")
	// ErrCorrupt means that the content of the file has changed since it was written.
	ErrCorrupt = errors.New("the snapshot is corrupt")
)
