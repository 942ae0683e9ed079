package state

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

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

// NotTaken reports why there is no safety snapshot. asked is when cluster-operator asked for it, and is nil if it did not.
func NotTaken(s State, why string, asked *metav1.Time) v1beta2.SafetySnapshotStatus {
	at := metav1.NewTime(s.Now).Rfc3339Copy()
	if asked != nil {
		at = *asked
	}
	return v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Time: at, Message: planning.Shorten(why, planning.MaxNote)}
}

// SafetyOrderOf returns what an attempt to save the old cluster needs.
func SafetyOrderOf(s State) SafetyOrder {
	src, progress := sourceOf(s), *s.Progress()
	volume := s.Restore.Status.Volume != nil
	if volume {
		store, _ := s.SafetyStore()
		s.Backup, src = store.Backup, store.Location.Source()
	}
	o := members(s, progress.ClusterIDBefore)
	o.Target, o.Mark = storage.FromSource(src), string(s.Restore.UID)+"/safety"
	o.Time, o.Since, o.MinRevision = progress.SeedReadyTime.Time, s.Restore.CreationTimestamp.Time, progress.LastRevision
	if b := s.Backup; b != nil && (s.Restore.Spec.EtcdBackup != nil || volume) {
		o.Encoder.Compression = string(b.Spec.Compression)
		if b.Spec.Encryption != nil {
			o.Encoder.Recipients = b.Spec.Encryption.Age.Recipients
		}
	}
	if len(o.Encoder.Recipients) == 0 { // a plain snapshot is restored; what it replaces may be worth more
		o.Encoder.Recipients = s.Recipients
	}
	o.Target.Options = writing(s)
	if read := s.Restore.Status.Snapshot; read != nil {
		o.Encoded = len(o.Encoder.Recipients) == 0 && read.PlainSize > 0
	}
	o.Target.Key = SafetyFolderOf(src.Key)
	return o
}

// source returns the snapshot that is restored, after it was verified.
func sourceOf(s State) v1beta2.RestoreSource {
	if s.OfPrefixes() {
		return *s.Restore.Status.Prefixes.Source
	}
	if s.Restore.Status.Follow != nil {
		return s.Restore.Status.Follow.Source
	}
	return ptr.Deref(s.Restore.Status.Source, v1beta2.RestoreSource{})
}

// SafetyStore is where a restore from a volume saves the present data.
type SafetyStore struct {
	Backup *v1beta2.EtcdBackup
	// Location has the key of the newest snapshot.
	Location storage.Location
}

// SafetyStore returns the store of the EtcdBackup of the cluster that has the newest snapshot, because that store is known to take snapshots of it. It is false if
// there is none.
func (s State) SafetyStore() (found SafetyStore, ok bool) {
	last := ""
	for i := range s.Backups {
		b := &s.Backups[i]
		newest := b.Status.Snapshot
		if newest == nil || !b.DeletionTimestamp.IsZero() || ok && newest.CreatedAt <= last {
			continue
		}
		location, problem := storage.Spec{Type: b.Spec.StorageType, Block: b.Spec.Storage, Folder: true}.Location()
		if problem != nil || !location.Has(b.Status, newest.Path) {
			continue
		}
		location.Key = strings.TrimPrefix(newest.Path, location.Bucket+"/")
		found, ok, last = SafetyStore{Backup: b, Location: location}, true, newest.CreatedAt
	}
	return found, ok
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
