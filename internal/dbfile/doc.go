// Package dbfile is a snapshot of etcd as a file on disk: what it holds, whether
// it is whole, and how it becomes a data directory. It is the only importer of
// etcdutl and of etcd's server code.
//
// A snapshot is the member's bbolt database with the SHA-256 of it appended. The
// checks here read the file with explicit bounds: bbolt itself maps it into
// memory and trusts it, so that a wrong page can end the process, in a goroutine
// where nobody can recover. Only a file that passed is handed to etcdutl.
package dbfile

import "errors"

var (
	// ErrNoTrailer says that the file does not end with a SHA-256 of itself: it
	// was copied out of a data directory and not taken as a snapshot, so nobody
	// can say whether it is whole; or its end is missing.
	ErrNoTrailer = errors.New("no SHA-256 trailer: the file was cut off, or copied from a data directory (member/snap/db) instead of taken by a snapshot")
	// ErrCorrupt says that the file is not what was once written.
	ErrCorrupt = errors.New("snapshot is corrupt")
)
