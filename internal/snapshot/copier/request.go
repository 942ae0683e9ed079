// Package copier copies the snapshots of one series to a second location, and finds out whether two locations are one.
package copier

import (
	"errors"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// ErrSource means that the first location failed during a copy, and not the second one.
var ErrSource = errors.New("read the first location")

// Copied is the second location after a copy.
type Copied struct {
	// Index and Known are its content, with what was copied.
	Index catalog.Index
	Known catalog.Known
	// Before is when the newest snapshot was taken that was there before; zero if there was none.
	Before time.Time
	// Last is the key of the snapshot that was copied last. It is empty if there was none to copy.
	Last string
	// Missing is how many snapshots are still to be copied.
	Missing int
	// Tried means that the second location was listed, and that neither store has ended the copies. It may be true although the copies
	// of some objects failed.
	Tried bool
}

// Request copies the snapshots of one series to a second location. The two series differ in their folders only.
type Request struct {
	From, To             objstore.Store
	FromSeries, ToSeries snapshot.Series
	// Policy is that of the second location. Only snapshots that it keeps are copied.
	Policy retention.Policy
	// Signers of the snapshots. If they are given, a snapshot that none of them has signed is not copied.
	Signers snapshot.Signers
	// Progress is called with the key before each copy, and then with the number of its bytes; may be nil.
	Progress func(key string, size int64) func(int64)
}

// keyOf returns the key in the second location.
func (r Request) keyOf(key string) string {
	return r.ToSeries.Prefix() + strings.TrimPrefix(key, r.FromSeries.Prefix())
}
