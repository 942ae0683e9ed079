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
	saved := state.NotTaken(s, why, c.SeedReadyTime)
	if c.SafetySnapshot != "" { // this status was lost
		saved = v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: c.SafetySnapshot, Time: saved.Time}
	}
	r.status.SafetySnapshot = &saved
}

// archivedBefore returns the newest revision of the old cluster that a continuous archive has; 0 for none. Each restore begins another timeline, so
// that of the old cluster is the newest whose first snapshot is from before the seed was ready. An archive that ended before may be of an earlier
// history, whose revisions say nothing about this one.
func archivedBefore(s state.State, c v1beta2.ClusterRestoreStatus) (revision int64) {
	if c.SeedReadyTime == nil {
		return 0
	}
	for _, b := range s.Backups {
		newest := v1beta2.RecoverableRange{}
		for _, r := range b.Status.Recoverable {
			if r.From.Time.Before(c.SeedReadyTime) && r.Timeline >= newest.Timeline {
				newest = r
			}
		}
		if !newest.To.Time.Before(c.SeedReadyTime) {
			revision = max(revision, newest.To.Revision)
		}
	}
	return revision
}
