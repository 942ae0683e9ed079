package failure

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/copier"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// HowToPermit says what a person has to do after a refusal.
func HowToPermit(refusal etcd.Refusal) string {
	const secret = "clientAuthSecret (with etcdCluster: spec.auth.operatorSecret of the EtcdCluster)"
	switch refusal {
	case etcd.RefusedPassword:
		return "Correct the user name and the password in the Secret that " + secret + " names."
	case etcd.RefusedRole:
		return "Give the user the role root in etcd (etcdctl user grant-role <user> root)."
	}
	return "Set " + secret + " to a Secret with the keys username and password of a user with the role root."
}

// Classify turns the error of an attempt into a Failure. expired is true if the attempt has used up its time.
func Classify(err error, o state.JobSpec, expired bool) *state.Failure {
	var known *Error
	reason, advice := explain(err, o, expired)
	if reason == "" && errors.As(err, &known) {
		return &known.Failure
	}
	if reason == "" {
		reason, advice = explainStore(err, o)
	}
	return &state.Failure{Reason: reason, Message: planning.Sentence(doing[o.Kind]+" failed: ", err.Error()) + " " + advice}
}

// doing names what an attempt does, at the start of a sentence.
var doing = map[state.Kind]string{state.KindSnapshot: "The snapshot", state.KindDrill: "The restore test", state.KindPurge: "Deleting the snapshots", state.KindPrune: "Deleting old snapshots", state.KindCopy: "The copy to the second location", state.KindArchive: "The continuous archive", state.KindArchiveCopy: "The copy of the continuous archive"}

// explain returns the reason of an error and what to do about it. The reason is empty if the error says it itself, or if
// it is an error of the store.
func explain(err error, o state.JobSpec, expired bool) (reason, advice string) {
	if reason, advice := grant.Explain(err, ownIdentity); reason != "" {
		return reason, advice
	}
	var panicked *panics.Error
	switch {
	case errors.As(err, &panicked):
		return v1beta2.ReasonRetrying, "This is a bug. Please report it with the stack trace from the operator's log."
	case errors.Is(err, fs.ErrExist):
		return v1beta2.ReasonObjectExists, "The operator never overwrites an object."
	case o.Kind == state.KindCopy && errors.Is(err, copier.ErrSource) && errors.Is(err, dbfile.ErrCorrupt):
		return v1beta2.ReasonSnapshotCorrupt, "The object in the first location is damaged, and the other snapshots are copied. Delete the object and its manifest from the first location."
	case o.Kind == state.KindCopy && errors.Is(err, copier.ErrSource) && errors.Is(err, fs.ErrPermission):
		return v1beta2.ReasonAccessDenied, fmt.Sprintf("The other snapshots are copied. If the object is in an archive storage class, restore it there or delete the snapshot. "+
			"Otherwise allow %s to read objects in the bucket %s.", o.Target.Identity(), o.Target.Bucket)
	case o.Kind == state.KindCopy && errors.Is(err, copier.ErrSource) && errors.Is(err, snapshot.ErrNotSigned):
		return v1beta2.ReasonSnapshotNotSigned, "With spec.signing, only signed snapshots are copied. If this one is from before you set it, the next snapshot is copied. Otherwise find out who can write to the bucket."
	case o.Kind == state.KindCopy && errors.Is(err, copier.ErrSource) && snapshot.OfSignature(err):
		return v1beta2.ReasonSignatureInvalid, fmt.Sprintf("The snapshot is not copied. If you have replaced the signing key, write the earlier public key into the key %s of the Secret %s. "+
			"Otherwise find out who can write to the bucket.", v1beta2.EarlierPublicKeysKey, o.Signing)
	case errors.Is(err, dbfile.ErrCorrupt), errors.Is(err, dbfile.ErrNoTrailer):
		return v1beta2.ReasonSnapshotCorrupt, "The operator stored no snapshot. Compare the members with etcdutl hashkv, and check the disk of the member that sent the snapshot."
	case errors.Is(err, pace.ErrTooSlow):
		return v1beta2.ReasonTransferTooSlow, "Find out what is slow: the member, the network or the store. The operator starts again."
	case expired:
		return v1beta2.ReasonDeadlineExceeded, fmt.Sprintf("The limit for an attempt is %s. Raise backupPolicy.timeoutInSecond, or find out what is slow: the member, the network or the store.", o.Timeout)
	}
	return "", ""
}

// explainStore does the same for the remaining errors. Every error that it does not recognise is an error of the store
// or of the network.
func explainStore(err error, o state.JobSpec) (reason, advice string) {
	switch {
	case etcd.RefusalOf(err) != etcd.NotRefused:
		return v1beta2.ReasonEtcdAccessDenied, HowToPermit(etcd.RefusalOf(err))
	case errors.Is(err, kube.ErrSecretRefused):
		return v1beta2.ReasonSecretMissing, "The operator continues when the Secret is smaller."
	case errors.Is(err, kube.ErrSecretMissing):
		return v1beta2.ReasonSecretMissing, "The operator continues when the Secret exists."
	case errors.Is(err, spool.ErrTooSmall):
		return v1beta2.ReasonSpoolTooSmall, "Raise backupOperator.spool.sizeLimit in the values of the chart, or free space on the disk of the node. A snapshot needs the size of the database, and a restore test twice that size and 128 MiB."
	case errors.Is(err, dbfile.ErrTooLarge):
		return v1beta2.ReasonSnapshotTooLarge, "The operator stored no result. Check which server the endpoints name. If it is your etcd, raise backupOperator.resources.limits.memory in the values of the chart."
	case errors.Is(err, turns.ErrOthersWaited):
		return v1beta2.ReasonRetrying, "The snapshot and the archive have no result from this attempt. The operator tries again. An attempt that others have ended several times gets more time."
	case errors.Is(err, dbfile.ErrNotChecked):
		return v1beta2.ReasonRetrying, "The operator stored no result. Check whether the node or the Pod of backup-operator has too few processes, file descriptors or memory."
	case errors.Is(err, dbfile.ErrMemory):
		return v1beta2.ReasonRestoreTestTooLarge, "The snapshot is kept, and its test has no result. Raise backupOperator.restoreTests.memory and the memory limit in the values of the chart. Or set verify to Checksum and remove the restore tests from the spec."
	case errors.Is(err, proof.ErrNotTested):
		return v1beta2.ReasonRetrying, "The snapshot is kept, and its test has no result. Check whether the node or the Pod of backup-operator has too few processes, file descriptors or memory."
	case errors.Is(err, objstore.ErrMemory):
		return v1beta2.ReasonRetrying, "The operator tries again."
	case errors.Is(err, spool.ErrFull):
		return v1beta2.ReasonRetrying, "The database has grown since the attempt began, and other attempts use the rest of the spool volume."
	case errors.Is(err, snapshot.ErrDisk):
		return v1beta2.ReasonRetrying, "Enlarge the spool volume of backup-operator. It needs room for the database of every snapshot that is taken at the same time."
	case errors.Is(err, snapshot.ErrSource), errors.Is(err, ErrMembers):
		return v1beta2.ReasonEndpointUnreachable, "Check the member and the network."
	case errors.Is(err, snapshot.ErrStale):
		return v1beta2.ReasonRetrying, "The member lags behind its cluster. The operator asks another member in the next attempt, if there is a better one."
	}
	p := problem.Of(err)
	return p.Reason, p.Advice(o.Target)
}
