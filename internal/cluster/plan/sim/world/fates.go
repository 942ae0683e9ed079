package world

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Kinds of objects that an admission policy denies.
const (
	Pods    = "Pod"
	Claims  = "PersistentVolumeClaim"
	Service = "Service"
	Budgets = "PodDisruptionBudget"
)

// Kinds are all of them.
var Kinds = []string{Pods, Claims, Service, Budgets}

// Restore is an EtcdRestore of the cluster.
type Restore struct {
	UID      types.UID
	Verified bool
	Deleted  bool
	// Complete and Failed are what restore-operator copied from the cluster's status.
	Complete, Failed bool
	Revision         int64
	// Seed is how its seed will fare.
	Seed Fate
	// Exact: it asks for an exact safety snapshot. Saver is how that will fare. SavedUpTo is its revision, 0 if it was not taken, and SavedFor the
	// time that the operator asked for.
	Exact     bool
	Saver     Saver
	SavedUpTo int64
	SavedFor  time.Time
	// Follow: its seed is a standby. Promote: a person has asked for the promotion.
	Follow, Promote bool
}

// RevisionBump of every EtcdRestore: more than a world writes.
const RevisionBump = 1_000_000

// Fate of a seed.
type Fate int

// Fates. FateRetry fails until the world is repaired; FateTooOld restores fewer revisions than were proven.
const (
	FateGood Fate = iota
	FateRetry
	FateNever
	FateTooOld
)

// Saver says how restore-operator fares with the safety snapshot of an EtcdRestore with safetySnapshot: Exact.
type Saver int

// Savers.
const (
	// SaverGood takes it if the members have a leader.
	SaverGood Saver = iota
	// SaverRefused reports that the store refuses it.
	SaverRefused
	// SaverAbsent does not run.
	SaverAbsent
)

// SafetyStatus is what the status of an EtcdRestore has of its safety snapshot.
func (r Restore) SafetyStatus() *v1beta2.SafetySnapshotStatus {
	if r.SavedFor.IsZero() {
		return nil
	}
	saved := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "bucket/old", Revision: r.SavedUpTo}
	if r.SavedUpTo == 0 {
		saved = v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Message: "the store refuses it"}
	}
	saved.Time.Time = r.SavedFor
	return &saved
}
