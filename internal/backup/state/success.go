package state

import (
	"cmp"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// asRecorded returns a snapshot of a series with the SHA-256 and the signer that the status recorded when it was saved. A user who can write to the
// bucket can replace a snapshot together with its manifest, so the manifest may be another one since then.
func asRecorded(status v1beta2.EtcdBackupStatus, s v1beta2.Snapshot) v1beta2.Snapshot {
	recorded := status.Snapshots
	if status.Snapshot != nil {
		recorded = append([]v1beta2.Snapshot{*status.Snapshot}, recorded...)
	}
	for _, earlier := range recorded {
		if earlier.Path == s.Path && earlier.SHA256 != "" {
			s.SHA256, s.SignedBy = earlier.SHA256, cmp.Or(earlier.SignedBy, s.SignedBy)
			break
		}
	}
	return s
}

// AllAsRecorded returns snapshots of a series with what the status recorded when they were saved.
func AllAsRecorded(status v1beta2.EtcdBackupStatus, snapshots []v1beta2.Snapshot) []v1beta2.Snapshot {
	var out []v1beta2.Snapshot
	for _, s := range snapshots {
		out = append(out, asRecorded(status, s))
	}
	return out
}

// RecordSuccess writes the facts of a successful attempt into the status.
func RecordSuccess(out *v1beta2.EtcdBackupStatus, a Attempt, s State) {
	snapshot, kept := *a.Result.Snapshot, a.Result.Kept
	if s.Series() && s.Target.IsStoreOf(s.Status) {
		snapshot, kept = asRecorded(*out, snapshot), AllAsRecorded(*out, kept)
	}
	out.Snapshots, out.SnapshotStore = kept, s.Target.Store()
	if a.Request != "" && a.Base == "" {
		out.HandledRequest = a.Request
	}
	out.Succeeded, out.Reason = true, ""
	out.Snapshot, out.EtcdVersion, out.EtcdRevision = &snapshot, snapshot.EtcdVersion, snapshot.Revision
	out.LastSuccessDate = Second(a.Result.EndedAt)
	if at, err := time.Parse(time.RFC3339, snapshot.CreatedAt); err == nil && a.Result.Found {
		out.LastSuccessDate = Second(at)
	}
}
