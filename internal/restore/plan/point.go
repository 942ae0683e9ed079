package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// PointOrder is what restore-operator needs to make the snapshot of a point, besides its source and choice.
type PointOrder struct {
	// Progress is up to when the EtcdBackup has archived its cluster. It is zero if that is not known.
	Progress archive.Progress
	// Options for writing the snapshot.
	Options storage.Options
	// Folder is that of the snapshot below the folder of the safety snapshots. Two EtcdRestores of one second may have the same point.
	// Folder, Mark and Time are the same in every attempt, so that an operator that was killed finds its snapshot again.
	Folder, Mark string
	Time         time.Time
	// DryRun writes no snapshot.
	DryRun bool
}

// pointOrder returns nil if the choice is a snapshot.
func (s State) pointOrder(choice source.Choice) *PointOrder {
	if !choice.Point() {
		return nil
	}
	return &PointOrder{
		Progress: s.archived(), Options: s.writing(), Folder: "point-" + string(s.Restore.UID), Mark: string(s.Restore.UID) + "/point",
		Time: s.Restore.CreationTimestamp.Time, DryRun: s.Restore.Spec.DryRun,
	}
}

// archived returns up to when the EtcdBackup of the spec has archived its cluster. After a move to another location, that is not known.
func (s State) archived() archive.Progress {
	if s.Restore.Spec.EtcdBackup == nil || s.Backup == nil || len(s.Backup.Status.Recoverable) == 0 {
		return archive.Progress{}
	}
	if now, problem := s.location(); problem != nil || s.present(now).Newest(s.Backup.Status) == nil {
		return archive.Progress{}
	}
	last := s.Backup.Status.Recoverable[len(s.Backup.Status.Recoverable)-1]
	return archive.Progress{Timeline: archive.Timeline(last.Timeline), Point: archive.Point{Revision: last.To.Revision, At: last.To.Time.UTC()}}
}

// location returns the folder that the spec of the EtcdBackup names now.
func (s State) location() (storage.Location, *storage.Problem) {
	return storage.Spec{Type: s.Backup.Spec.StorageType, Block: s.Backup.Spec.Storage, Folder: true}.Location()
}

// writing returns how the EtcdBackup of the spec stores its snapshots. A spec with a path of its own only says whether the store has
// conditional writes.
func (s State) writing() storage.Options {
	if s3 := s.Restore.Spec.S3; s.Restore.Spec.EtcdBackup == nil && s3 != nil {
		return storage.Options{S3: v1beta2.S3Options{CheckBeforeWrite: s3.CheckBeforeWrite}}
	}
	if s.Restore.Spec.EtcdBackup == nil || s.Backup == nil {
		return storage.Options{}
	}
	written, problem := s.location()
	if problem != nil {
		return storage.Options{}
	}
	return written.Options
}
