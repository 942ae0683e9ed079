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
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// failure is why a source could not be verified.
type failure struct {
	// Reason is one of the API's. Message says what is wrong, what it means and what to do.
	Reason, Message string
	// Final is true if another attempt would fail the same way.
	Final bool
}

// classify turns the error of reading src into a failure. Every error that it does not recognise is an error of the
// store or of the network.
func classify(err error, src v1beta2.RestoreSource) failure {
	explained, what := explain, "The operator could not read the snapshot: "
	if reason, advice := grant.Explain(err, "restoreOperator.ownIdentity"); reason != "" {
		return failure{reason, planning.Sentence(what, err.Error()) + " The cluster was not changed. " + advice, false}
	}
	if errors.Is(err, errReplaced) {
		return failure{v1beta2.ReasonSnapshotChanged, planning.Sentence("", err.Error()) + " Find out who can write to the bucket, and create another EtcdRestore.", true}
	}
	if errors.Is(err, errMembers) {
		return failure{v1beta2.ReasonRetrying, planning.Sentence("The snapshot is verified, but its keys could not be compared with the cluster: ", err.Error()) + " The operator tries again.", false}
	}
	if ofArchive(err) {
		explained, what = explainPoint, "The cluster cannot be restored as asked: "
	}
	reason, advice, final := explained(err, src)
	return failure{reason, planning.Sentence(what, err.Error()) + " " + advice, final}
}

// explainSize explains an error of the size of a snapshot; the reason is empty if err is another one.
func explainSize(err error) (reason, advice string, final bool) {
	switch {
	case errors.Is(err, errKey):
		return v1beta2.ReasonInvalidSpec, "The cluster was not changed. Copy the folder to a shorter path, or restore a snapshot instead of a point in time.", true
	case errors.Is(err, dbfile.ErrTooLarge):
		return v1beta2.ReasonSnapshotTooLarge, "The operator stopped reading it, and the cluster was not changed. If the object is one of your snapshots, raise restoreOperator.resources.limits.memory " +
			"in the values of the chart, and create another EtcdRestore.", true
	case source.TooLarge(err):
		return v1beta2.ReasonSnapshotTooLarge, "The operator stopped reading it, and the cluster was not changed. If the object is one of your snapshots, raise restoreOperator.spool.sizeLimit " +
			"in the values of the chart. It must be more than the size of the database. Then create another EtcdRestore.", true
	case errors.Is(err, spool.ErrTooSmall):
		return v1beta2.ReasonSpoolTooSmall, "Raise restoreOperator.spool.sizeLimit in the values of the chart, or free space on the disk of the node.", false
	case errors.Is(err, objstore.ErrMemory):
		return v1beta2.ReasonRetrying, "The operator tries again.", false
	case errors.Is(err, turns.ErrOthersWaited):
		return v1beta2.ReasonRetrying, "The snapshot and the archive have no result, and the cluster was not changed. The operator tries again. An attempt that others have ended several times gets more time.", false
	case errors.Is(err, spool.ErrFull):
		return v1beta2.ReasonRetrying, "The snapshot has more bytes than its store states, and other snapshots use the rest of the spool volume.", false
	}
	return "", "", false
}

// explainSignature is explain for the signature of a snapshot.
func explainSignature(err error) (reason, advice string) {
	switch {
	case errors.Is(err, snapshot.ErrNotSigned):
		return v1beta2.ReasonSnapshotNotSigned, "The cluster was not changed. Restore a snapshot that is signed. If this one was never signed and you trust the bucket, create another EtcdRestore without signing."
	case snapshot.OfSignature(err):
		return v1beta2.ReasonSignatureInvalid, "The cluster was not changed. If you have replaced the signing key, create another EtcdRestore that also has the earlier public key. " +
			"Otherwise somebody has changed the snapshot: find out who can write to the bucket, and restore another one."
	}
	return "", ""
}

// whenSecret says when the operator continues after a Secret was missing or refused.
func whenSecret(err error) string {
	if errors.Is(err, kube.ErrSecretRefused) {
		return "The operator continues when the Secret is smaller."
	}
	return "The operator continues when the Secret exists."
}

// explain returns the reason of an error, what it means and what to do about it, and whether another attempt would fail
// the same way.
func explain(err error, src v1beta2.RestoreSource) (reason, advice string, final bool) {
	if reason, advice, final := explainSize(err); reason != "" {
		return reason, advice, final
	}
	if reason, advice := explainSignature(err); reason != "" {
		return reason, advice, true
	}
	var panicked *panics.Error
	switch {
	case errors.As(err, &panicked):
		return v1beta2.ReasonRetrying, "This is a bug. Please report it with the stack trace from the operator's log.", false
	case errors.Is(err, kube.ErrSecretRefused), errors.Is(err, kube.ErrSecretMissing):
		return v1beta2.ReasonSecretMissing, whenSecret(err), false
	case errors.Is(err, pace.ErrTooSlow):
		return v1beta2.ReasonTransferTooSlow, "The cluster was not changed. Find out why the store or the network is so slow.", false
	case errors.Is(err, errTooSlow):
		return v1beta2.ReasonDeadlineExceeded, "The limit is one hour, and one second for each MiB of the snapshot, at most a day. The time in which it waits for other jobs does not count. Find out why the store or the network is so slow.", false
	case source.Undecryptable(err) && src.Secret == "":
		return v1beta2.ReasonSecretMissing, "The object is encrypted. Create an EtcdRestore that names a Secret with the key age-identity.", false
	case source.Undecryptable(err):
		return v1beta2.ReasonSecretMissing, fmt.Sprintf("Put the identity that the object was encrypted for into the key age-identity of the Secret %s.", src.Secret), false
	case errors.Is(err, dbfile.ErrNotChecked):
		return v1beta2.ReasonRetrying, "Check whether the node or the Pod of restore-operator has too few processes, file descriptors or memory.", false
	case errors.Is(err, source.ErrAmbiguous):
		return v1beta2.ReasonSnapshotAmbiguous, "The cluster was not changed. Create another EtcdRestore that selects one snapshot.", true
	case errors.Is(err, source.ErrConfig) && src.Secret != "":
		return v1beta2.ReasonSecretMissing, fmt.Sprintf("Correct the Secret %s.", src.Secret), false
	case source.Corrupt(err):
		return v1beta2.ReasonSnapshotCorrupt, "The snapshot is damaged, and the cluster was not changed. Restore another snapshot.", true
	case source.Newer(err):
		return v1beta2.ReasonSnapshotTooNew, "The cluster was not changed. Upgrade the operators, then create another EtcdRestore.", true
	case source.Missing(err):
		return v1beta2.ReasonObjectNotFound, "The cluster was not changed. List the objects in the bucket, then create an EtcdRestore with the right path.", true
	case errors.Is(err, source.ErrDisk):
		return v1beta2.ReasonRetrying, "Enlarge the spool volume of restore-operator. It needs room for every snapshot that is read at the same time.", false
	case errors.Is(err, objstore.ErrNoBucket):
		return v1beta2.ReasonBucketNotFound, fmt.Sprintf("Create the bucket %s, or create an EtcdRestore with another path.", src.Bucket), false
	case errors.Is(err, fs.ErrPermission):
		return v1beta2.ReasonAccessDenied, fmt.Sprintf("Allow %s to list and read objects in the bucket %s.", storage.FromSource(src).Identity(), src.Bucket), false
	}
	p := problem.Of(err)
	return p.Reason, p.Advice(storage.FromSource(src)), false
}

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

var (
	// errMembers is in the chain if the keys of the cluster could not be read or written.
	errMembers = errors.New("the keys of the cluster cannot be read or written")
	// errReplaced is in the chain if the snapshot is another one than at the comparison.
	errReplaced = errors.New("the snapshot was replaced since its keys were compared")
)

// errKey is in the chain if the name of the snapshot of a point cannot be one of an object. It would be found only after the whole replay.
var errKey = errors.New("the path is too long for a restore to a point in time")

// errPointTarget is in the chain if the snapshot of a point could not be stored.
var errPointTarget = errors.New("store the snapshot of the point")
