package restore

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// ofArchive reports whether explainPoint has the reason of an error. The store's own faults are those of any snapshot.
func ofArchive(err error) bool {
	for _, known := range []error{archive.ErrCorrupt, archive.ErrNewerFormat, archive.ErrTooManyLinks, replay.ErrRefused, dbfile.ErrMemory} {
		if errors.Is(err, known) {
			return true
		}
	}
	return archive.IsRefusal(err) || segmentMissing(err) || errors.Is(err, errPointTarget) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist))
}

// segmentMissing reports whether a segment that was listed does not exist any more.
func segmentMissing(err error) bool {
	var at *archive.RevisionError
	return errors.As(err, &at) && errors.Is(err, fs.ErrNotExist)
}

// explainPoint is explain for the errors of a continuous archive.
func explainPoint(err error, src v1beta2.RestoreSource) (reason, advice string, final bool) {
	const untouched = "The cluster was not changed. "
	switch {
	case archive.IsRefusal(err), errors.Is(err, archive.ErrTooManyLinks):
		return v1beta2.ReasonPointNotRecoverable, untouched + "Create another EtcdRestore with a point that can be restored.", true
	case errors.Is(err, archive.ErrNewerFormat):
		return v1beta2.ReasonSnapshotTooNew, untouched + "Upgrade the operators, then create another EtcdRestore.", true
	case errors.Is(err, dbfile.ErrMemory):
		return v1beta2.ReasonReplayTooLarge, untouched + "Raise restoreOperator.replay.memory and restoreOperator.resources.limits.memory in the values of the chart.", false
	case errors.Is(err, errPointTarget) && errors.Is(err, fs.ErrExist):
		return v1beta2.ReasonObjectExists, untouched + "The operator never overwrites an object. Create another EtcdRestore: it stores the point under another name.", true
	case errors.Is(err, errPointTarget):
		return v1beta2.ReasonAccessDenied, fmt.Sprintf("%sThe operator stores the restored point as a snapshot. Allow %s to create objects below %s.",
			untouched, storage.FromSource(src).Identity(), path.Join(src.Bucket, state.SafetyFolderOf(src.Key))), false
	case segmentMissing(err):
		return v1beta2.ReasonArchiveCorrupt, untouched + "The operator tries again, because backup-operator may have deleted old parts.", false
	}
	return v1beta2.ReasonArchiveCorrupt, untouched + "Create another EtcdRestore with an earlier point, or one that restores a snapshot.", true
}
