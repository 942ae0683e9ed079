package standby

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Options of a Follower.
type Options struct {
	// Dir is a directory that only this follower uses. It keeps the database there.
	Dir string
	// Store has the archive below Root. Nothing is written to it.
	Store objstore.Store
	Root  string
	// Identities are those of age, one for each line.
	Identities []byte
	// FallbackTTL in seconds is for leases whose TTL the archive does not have. Default: 60.
	FallbackTTL int64
	// Find returns the newest base of the archive, and the chain that the first link after it must follow.
	Find func(ctx context.Context) (archive.Choice, error)
	// Fetch writes the database of a base to path, and verifies it.
	Fetch func(ctx context.Context, base archive.Base, path string) error
	// Users returns the state of authentication that the database must have; nil if that is not known. It may be nil.
	Users func() *auth.State
	// Unsealed leaves out the SHA-256 at the end of what Finish makes. To compute it takes seconds for gigabytes.
	Unsealed bool
	// Poll is how long the follower waits after it has found nothing new. Default: 2 seconds.
	Poll time.Duration
	// Patience bounds the transfer of one link. Default: 5 minutes.
	Patience time.Duration
	// Report is called after each step. It must not wait. It may be nil.
	Report func(Status)
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	unsynced bool   // leaves out the fsync of the database; for tests, whose machine does not fail
	durable  func() // is called after each change of the disk that survives a crash; for tests
}

// path returns the path of a file of the follower.
func (o Options) path(name string) string { return filepath.Join(o.Dir, name) }

func (o Options) withDefaults() Options {
	o.FallbackTTL = cmp.Or(o.FallbackTTL, 60)
	o.Poll = cmp.Or(o.Poll, 2*time.Second)
	o.Patience = cmp.Or(o.Patience, 5*time.Minute)
	if o.Report == nil {
		o.Report = func(Status) {}
	}
	if o.Users == nil {
		o.Users = func() *auth.State { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.durable == nil {
		o.durable = func() {}
	}
	return o
}
