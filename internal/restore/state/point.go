package state

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// PointOrderOf returns what is needed to make the snapshot of a point. It returns nil if the choice is a snapshot.
func PointOrderOf(s State, choice source.Choice) *PointOrder {
	if !choice.Point() {
		return nil
	}
	return &PointOrder{
		Progress: s.Archived(), Options: writing(s), Folder: "point-" + string(s.Restore.UID), Mark: string(s.Restore.UID) + "/point",
		Time: s.Restore.CreationTimestamp.Time, DryRun: s.Restore.Spec.DryRun,
	}
}

// Archived returns up to when the EtcdBackup of the spec has archived its cluster. After a move to another location, that is not known.
func (s State) Archived() archive.Progress {
	if s.Restore.Spec.EtcdBackup == nil || s.Backup == nil || len(s.Backup.Status.Recoverable) == 0 {
		return archive.Progress{}
	}
	if now, problem := s.Location(); problem != nil || s.Present(now).Newest(s.Backup.Status) == nil {
		return archive.Progress{}
	}
	last := s.Backup.Status.Recoverable[len(s.Backup.Status.Recoverable)-1]
	return archive.Progress{Timeline: archive.Timeline(last.Timeline), Point: archive.Point{Revision: last.To.Revision, At: last.To.Time.UTC()}}
}

// Location returns the folder that the spec of the EtcdBackup names now.
func (s State) Location() (storage.Location, *storage.Problem) {
	return storage.Spec{Type: s.Backup.Spec.StorageType, Block: s.Backup.Spec.Storage, Folder: true}.Location()
}

// Present is what the spec of the EtcdBackup saves now, in its location.
func (s State) Present(l storage.Location) source.Present {
	return source.PresentOf(l, s.Restore.Namespace, s.Backup.Name, s.Backup.Spec)
}

// writing returns how the EtcdBackup of the spec stores its snapshots. A spec with a path of its own only says whether the store has
// conditional writes.
func writing(s State) storage.Options {
	if s3 := s.Restore.Spec.S3; s.Restore.Spec.EtcdBackup == nil && s3 != nil {
		return storage.Options{S3: v1beta2.S3Options{CheckBeforeWrite: s3.CheckBeforeWrite}}
	}
	if s.Restore.Spec.EtcdBackup == nil && s.Restore.Spec.Volume == nil || s.Backup == nil {
		return storage.Options{}
	}
	written, problem := s.Location()
	if problem != nil {
		return storage.Options{}
	}
	return written.Options
}
