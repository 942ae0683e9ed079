package standby

import (
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// Cause is why an archive cannot be followed any further.
type Cause string

const (
	// NewTimeline means that the archive has begun another timeline: the cluster was restored, recreated or recovered.
	NewTimeline Cause = "NewTimeline"
	// Gap means that events were lost before they were archived.
	Gap Cause = "Gap"
	// Missing means that the next link does not exist, although later ones do. Retention has deleted it, for example, because the follower was stopped for long.
	Missing Cause = "Missing"
	// UsersChanged means that users, roles or authentication have changed. An archive does not have these changes.
	UsersChanged Cause = "UsersChanged"
	// Damaged means that the next link is damaged, or that its events do not follow from what the database has.
	Damaged Cause = "Damaged"
	// Unreadable means that the store refuses to return the next link, for example because of its storage class.
	Unreadable Cause = "Unreadable"
	// Replaced means that the archive was deleted, or deleted and begun again. Its bases may be of another cluster, so the follower does not begin again by itself.
	Replaced Cause = "Replaced"
)

// Broken means that the follower must begin again from a newer base. Until there is one, its database ends with the revision before.
type Broken struct {
	Cause    Cause
	Timeline archive.Timeline
	// Revision is the first one that cannot be applied.
	Revision int64
	Err      error
}

func (b *Broken) Error() string {
	return fmt.Sprintf("timeline %d cannot be followed from revision %d: %v", b.Timeline, b.Revision, b.Err)
}

func (b *Broken) Unwrap() error { return b.Err }

// IsBroken returns the Broken in an error; nil if there is none.
func IsBroken(err error) *Broken {
	var broken *Broken
	_ = errors.As(err, &broken)
	return broken
}

// ErrFinished means that the database was handed over by Finish, and is not followed any more.
var ErrFinished = errors.New("the database was handed over")

// ErrNoBase means that there is no database yet, because the archive was never read.
var ErrNoBase = errors.New("no base was fetched yet")
