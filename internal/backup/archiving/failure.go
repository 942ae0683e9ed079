package archiving

import (
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// archiveStable is how long an archiver must run before an earlier failure does not count any more.
const archiveStable = time.Minute

// classify turns the error of an archiver into a Failure.
func classify(err error, o state.JobSpec) *state.Failure {
	switch {
	case err == nil:
		return &state.Failure{Reason: v1beta2.ReasonRetrying, Message: "The archiver has ended without an error."}
	case errors.Is(err, archiver.ErrUnreturned):
		return &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: fmt.Sprintf("The continuous archive has stopped: %v. The operator may write objects and not read them, so it takes no snapshot for another timeline. "+
			"Allow %s to read objects in the bucket %s. If the store encrypts them with a key, allow it to decrypt with that key.", err, o.Target.Identity(), o.Target.Bucket)}
	case errors.Is(err, archiver.ErrFenced):
		return &state.Failure{Reason: v1beta2.ReasonArchiveFenced, Message: fmt.Sprintf("Another archiver writes the same archive, %s in the bucket %s: %v. "+
			"Only one EtcdBackup of one backup-operator may archive a cluster into a folder. Remove continuous from the other one, or write another path.", o.ArchiveRoot(), o.Target.Bucket, err)}
	case errors.Is(err, archiver.ErrRepeats):
		return &state.Failure{Reason: v1beta2.ReasonRetrying, Message: fmt.Sprintf("The continuous archive failed: %v. The answers of the store lag behind its objects in the bucket %s, or the members answer differently each time. "+
			"Nothing new is archived until that ends. The operator tries again.", err, o.Target.Bucket)}
	case errors.Is(err, archiver.ErrRoom):
		reason := v1beta2.ReasonRetrying
		if errors.Is(err, spool.ErrTooSmall) {
			reason = v1beta2.ReasonSpoolTooSmall
		}
		return &state.Failure{Reason: reason, Message: fmt.Sprintf("The continuous archive has stopped: %v. The operator needs twice the size of a revision on its spool volume. Nothing newer is archived until it has that. "+
			"Raise backupOperator.spool.sizeLimit in the values of the chart, or turn the archive off and on again. The operator tries again.", err)}
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrNewerFormat):
		return &state.Failure{Reason: v1beta2.ReasonArchiveCorrupt, Message: fmt.Sprintf("The archive %s in the bucket %s cannot be continued: %v. Nothing new is archived. "+
			"Move the folder away, and the operator begins a new archive.", o.ArchiveRoot(), o.Target.Bucket, err)}
	}
	o.Kind = state.KindArchive
	return failure.Classify(err, o, false)
}
