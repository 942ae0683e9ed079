package state

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// SafetyPatience is how long an attempt that failed is repeated if the safety snapshot is not required. Time that was lost to other namespaces
// says nothing about the members and the store, so it is added. An attempt that ended because of them is repeated for as long as cluster-operator waits.
const SafetyPatience = 5 * time.Minute

// SafetyRecorded returns whether the status has what became of the safety snapshot. If cluster-operator has set
// seedReadyTime again, a snapshot from before that is taken again. Both times are those of cluster-operator's clock.
func (s State) SafetyRecorded() bool {
	saved, progress := s.Restore.Status.SafetySnapshot, s.Progress()
	switch {
	case saved == nil:
		return false
	case progress == nil || !s.MayAskForSafety(*progress):
		return true
	}
	return !saved.Time.Before(progress.SeedReadyTime)
}

// MayAskForSafety returns whether cluster-operator may wait for the safety snapshot. It waits for an exact one when the old members refuse writes.
func (s State) MayAskForSafety(c v1beta2.ClusterRestoreStatus) bool {
	exact := s.Restore.Spec.SafetySnapshotPolicy() == v1beta2.SafetySnapshotExact
	return c.Step == v1beta2.RestoreSeeding || c.Step == restoringKeys || exact && c.Step == v1beta2.RestoreSwitching
}

// GivesUpSafety returns whether the restore continues after a failed attempt. A short fault of a member or of the store
// must not cost the old data, so the operator waits. It does not wait if the store refuses to write, or if the cluster has no
// quorum and so serves no client. An earlier snapshot remains in the status: cluster-operator ends the wait then.
func (s State) GivesUpSafety(ready metav1.Time) bool {
	earlier := s.Restore.Status.SafetySnapshot
	policy := s.Restore.Spec.SafetySnapshotPolicy()
	if policy == v1beta2.SafetySnapshotExact && s.Safety.Refused && earlier == nil {
		return true // clients cannot write while it waits
	}
	if policy.Requires() || earlier != nil && earlier.Result == v1beta2.SafetySnapshotTaken {
		return false
	}
	patience := min(SafetyPatience+s.Safety.Lost, v1beta2.SafetySnapshotLimit)
	if s.Safety.Others {
		patience = v1beta2.SafetySnapshotLimit
	}
	if s.OfPrefixes() && s.WaitedFor(ready, patience) {
		return true
	}
	return s.Safety.Refused || !s.Now.Before(ready.Add(patience)) || meta.IsStatusConditionFalse(s.Cluster.Status.Conditions, v1beta2.ConditionAvailable)
}

func (s State) NotTaken(why string, asked *metav1.Time) v1beta2.SafetySnapshotStatus {
	at := metav1.NewTime(s.Now).Rfc3339Copy()
	if asked != nil {
		at = *asked
	}
	return v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: at, Message: planning.Shorten(why, planning.MaxNote)}
}

// SafetyOrder returns what an attempt to save the old cluster needs.
func (s State) SafetyOrder() SafetyOrder {
	src, progress := s.source(), *s.Progress()
	o := s.members(progress.ClusterIDBefore)
	o.Target, o.Mark = storage.FromSource(src), string(s.Restore.UID)+"/safety"
	o.Time, o.Since, o.MinRevision = progress.SeedReadyTime.Time, s.Restore.CreationTimestamp.Time, progress.LastRevision
	if b := s.Backup; b != nil && s.Restore.Spec.EtcdBackup != nil {
		o.Encoder.Compression = string(b.Spec.Compression)
		if b.Spec.Encryption != nil {
			o.Encoder.Recipients = b.Spec.Encryption.Age.Recipients
		}
	}
	if len(o.Encoder.Recipients) == 0 { // a plain snapshot is restored; what it replaces may be worth more
		o.Encoder.Recipients = s.Recipients
	}
	o.Target.Options = s.writing()
	o.Encoded = len(o.Encoder.Recipients) == 0 && s.Restore.Status.Snapshot.PlainSize > 0
	o.Target.Key = SafetyFolderOf(src.Key)
	return o
}

// source returns the snapshot that is restored, after it was verified.
func (s State) source() v1beta2.RestoreSource {
	if s.OfPrefixes() {
		return *s.Restore.Status.Prefixes.Source
	}
	if s.Restore.Status.Follow != nil {
		return s.Restore.Status.Follow.Source
	}
	return *s.Restore.Status.Source
}

// ArchivedBefore returns the newest revision of the old cluster that a continuous archive has; 0 for none. Each restore begins another timeline, so
// that of the old cluster is the newest whose first snapshot is from before the seed was ready. An archive that ended before may be of an earlier
// history, whose revisions say nothing about this one.
func (s State) ArchivedBefore(c v1beta2.ClusterRestoreStatus) (revision int64) {
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

// SafetyFolderOf returns the folder of the safety snapshots for a snapshot with this key.
func SafetyFolderOf(key string) string {
	folder := ""
	if at := strings.LastIndexByte(key, '/'); at >= 0 {
		folder = key[:at]
	}
	if parsed, series := snapshot.ParseKey(key); series {
		folder = parsed.Folder
	}
	// The restore of a safety snapshot, or of the snapshot of a point.
	if before, _, found := strings.Cut("/"+folder+"/", "/"+snapshot.SafetyFolder+"/"); found {
		folder = strings.TrimPrefix(before, "/")
	}
	return strings.TrimPrefix(folder+"/"+snapshot.SafetyFolder, "/")
}
