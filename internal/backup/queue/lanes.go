package queue

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// The lanes of the pool. Restore tests and deletions do not delay snapshots: an attempt moves to the lane of verifications
// when its snapshot is in the store. That lane has no limit, because the slots of restore tests limit what runs in it.
const (
	LaneSnapshot = "snapshot"
	LaneVerify   = "verification"
	LaneDrill    = "restore-test"
	LanePurge    = "purge"
)

// maxPurges is how many deletions run at the same time. They need little more than requests to the store.
const maxPurges = 3

const (
	// LaneCopy has workers of its own. One bucket may use all of them but one, and one namespace all of a bucket but one.
	LaneCopy = "copy"
	// MaxCopies is how many copies run at the same time.
	MaxCopies = 3
)

// attemptPatience is after how long an attempt runs on without a worker, if another namespace waits for one. An attempt may take a day, and its store may be
// as slow as a tenant likes.
const attemptPatience = 5 * time.Minute

// LaneOf is the lane in which an attempt begins.
var LaneOf = map[state.Kind]string{state.KindSnapshot: LaneSnapshot, state.KindDrill: LaneDrill, state.KindPurge: LanePurge, state.KindPrune: LanePurge, state.KindCopy: LaneCopy}

// Lanes are the limits. The gates of the restore tests limit those that wait in their lane.
func (o Options) Lanes() map[string]int {
	return map[string]int{LaneSnapshot: o.MaxConcurrent, LaneDrill: readers(o.MaxRestoreTests), LanePurge: maxPurges}
}

// Limits of the snapshots of one namespace, and of those to one bucket. 0 means turns.Share of what is shared.
type Limits struct{ namespace, store int }

// Limits returns the limits, of which the options may name none.
func (o Options) Limits() Limits {
	out := Limits{namespace: o.MaxPerNamespace, store: o.MaxPerStore}
	if out.store == 0 {
		out.store = turns.Share(o.MaxConcurrent)
	}
	if out.namespace == 0 {
		out.namespace = turns.Share(out.store)
	}
	return out
}

// Claim names the limits of an attempt. In each bucket, the pool lets one namespace leave a slot to others, too.
func (l Limits) Claim(o state.JobSpec) worker.Claim {
	claim := worker.Claim{Lane: LaneOf[o.Kind], Patience: attemptPatience}
	if o.Kind == state.KindSnapshot && l.store > 0 {
		claim.Namespace, claim.Groups = l.namespace, map[string]int{bucketOf(o.Target): l.store}
	}
	if o.Kind == state.KindCopy && o.Copy != nil {
		claim.Groups = map[string]int{bucketOf(*o.Copy): turns.Share(MaxCopies)}
	}
	return claim
}

func bucketOf(l storage.Location) string {
	return fmt.Sprintf("store %s %s %s", l.Provider, l.Endpoint, l.Bucket)
}
