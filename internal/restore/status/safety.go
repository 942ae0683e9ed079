package status

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

// switchedUnsaved records that the cluster was switched while the safety snapshot was still open.
func (r report) switchedUnsaved(s state.State, c v1beta2.ClusterRestoreStatus) {
	wanted := s.Restore.Spec.SafetySnapshotPolicy() != v1beta2.SafetySnapshotSkip && c.ClusterIDBefore != ""
	notSwitched := s.MayAskForSafety(c) || c.Step == v1beta2.RestoreFailed && c.SafetySnapshot == ""
	if !wanted || notSwitched || r.status.SafetySnapshot != nil {
		return
	}
	why := "It was not taken within " + v1beta2.SafetySnapshotLimit.String() + ", and the restore continued."
	if c.SeedReadyTime == nil {
		why = "The present cluster-operator did not wait for it. Upgrade it."
	}
	saved := s.NotTaken(why, c.SeedReadyTime)
	if c.SafetySnapshot != "" { // this status was lost
		saved = v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: c.SafetySnapshot, Time: saved.Time}
	}
	r.status.SafetySnapshot = &saved
}
