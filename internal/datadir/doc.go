// Package datadir makes a snapshot of the data directory of an etcd that does not run. The snapshot has what is in the database, and what was
// committed and is only in the write-ahead log.
//
// Another party may have written each byte of the directory. So a copy of the database is checked like any snapshot, and a child process reads
// the log and applies it to that copy with etcd's own code. The directory is only read.
package datadir

import "errors"

// ErrRefused means that the directory was read and no snapshot can be made of it. The text says why, and what to do.
var ErrRefused = errors.New("the data directory cannot be used")

// ErrInUse means that a running etcd writes to the directory.
var ErrInUse = errors.New("an etcd that runs has opened the data directory")

// Result is what a snapshot of a data directory has.
type Result struct {
	// MemberID and ClusterID are those of the member whose directory it is.
	MemberID  uint64 `json:"memberID"`
	ClusterID uint64 `json:"clusterID"`
	// Base is the revision of the database before the log was applied, and Revision the one after.
	Base     int64 `json:"base"`
	Revision int64 `json:"revision"`
	// Entries is how many entries were applied that only the log had, and LeftOut how many at its end of which no record says that they are committed.
	Entries int64 `json:"entries"`
	LeftOut int64 `json:"leftOut,omitempty"`
	// FirstLeftOut is the first revision that those entries would have written; 0 if none of them writes a key.
	FirstLeftOut int64 `json:"firstLeftOut,omitempty"`
}
