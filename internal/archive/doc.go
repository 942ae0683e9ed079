// Package archive implements the format of the continuous archive: every revision of a cluster's keys after a snapshot, in
// segments beside the snapshots. It encodes and decodes segments, lists them, and decides which of them a restore needs.
// It uses object stores, but neither etcd nor Kubernetes. See docs/adr/0049-a-continuous-archive-replayed-offline.md.
//
// A timeline is one history of one cluster. It begins with a start object and a base snapshot. Its links follow: segments
// with events, and gaps where events are lost. Each link holds the SHA-256 of the one before, so they form a chain. The
// key of a link follows from the link before, and a store never replaces an object. So only one archiver can extend a
// chain.
package archive

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

var (
	// ErrCorrupt means that an object of the archive is damaged, or not what its key says.
	ErrCorrupt error = objstore.ContentError("the archive is corrupt")
	// ErrNewerFormat means that a newer version of the suite wrote the object.
	ErrNewerFormat error = objstore.ContentError("the archive has a newer format")
)

// Point is a revision, and a time at which it had been received: all its changes were made before that time.
type Point struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
}

func (p Point) String() string {
	if p.At.IsZero() {
		return fmt.Sprintf("revision %d", p.Revision)
	}
	return fmt.Sprintf("revision %d (%s)", p.Revision, p.At.UTC().Format(time.RFC3339Nano))
}

// RevisionError is an error of the archive at one revision.
type RevisionError struct {
	Revision int64
	Key      string // of the object in the store; may be empty
	Err      error
}

func (e *RevisionError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("revision %d: %v", e.Revision, e.Err)
	}
	return fmt.Sprintf("revision %d in %s: %v", e.Revision, e.Key, e.Err)
}

func (e *RevisionError) Unwrap() error { return e.Err }

// corruptAt returns ErrCorrupt at a revision.
func corruptAt(revision int64, key, format string, args ...any) error {
	return &RevisionError{Revision: revision, Key: key, Err: fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))}
}
