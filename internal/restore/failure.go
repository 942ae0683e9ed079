package restore

import (
	"errors"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// failure is why a source could not be proven.
type failure struct {
	// Reason is one of the API's; Message says what to do.
	Reason, Message string
	// Final: the same source read again would fail the same way.
	Final bool
}

// classify turns the error of reading src into a failure. Whatever nothing else is known of is an answer of the
// store, or none.
func classify(err error, src v1beta2.RestoreSource) failure {
	var panicked *worker.PanicError
	passing := func(reason, advice string) failure { return failure{reason, err.Error() + "; " + advice, false} }
	final := func(reason, advice string) failure { return failure{reason, err.Error() + "; " + advice, true} }
	switch {
	case errors.As(err, &panicked):
		return passing(v1beta2.ReasonRetrying, "please report this; the operator's log has the stack")
	case errors.Is(err, kube.ErrSecretMissing):
		return failure{v1beta2.ReasonSecretMissing, err.Error(), false}
	case source.Undecryptable(err) && src.Secret == "":
		return passing(v1beta2.ReasonSecretMissing, "the snapshot is encrypted: make an EtcdRestore that names a Secret with the key age-identity")
	case source.Undecryptable(err):
		return passing(v1beta2.ReasonSecretMissing, "put the identity that the snapshot was encrypted for into the key age-identity of the Secret "+src.Secret)
	case errors.Is(err, source.ErrAmbiguous):
		return final(v1beta2.ReasonSnapshotAmbiguous, "then make another EtcdRestore; nothing was touched")
	case errors.Is(err, source.ErrConfig) && src.Secret != "":
		return passing(v1beta2.ReasonSecretMissing, "correct the Secret "+src.Secret)
	case source.Corrupt(err):
		return final(v1beta2.ReasonSnapshotCorrupt, "nothing was touched; restore another snapshot")
	case source.Newer(err):
		return final(v1beta2.ReasonSnapshotTooNew, "nothing was touched")
	case source.Missing(err):
		return final(v1beta2.ReasonObjectNotFound, "nothing was touched; see which snapshots there are, then make an EtcdRestore with that path")
	case errors.Is(err, source.ErrDisk):
		return passing(v1beta2.ReasonRetrying, "the spool volume of the operator must have room for the snapshot, once for each that is read at a time")
	case errors.Is(err, objstore.ErrNoBucket):
		return passing(v1beta2.ReasonBucketNotFound, "create the bucket "+src.Bucket+", or make an EtcdRestore with another path")
	case errors.Is(err, fs.ErrPermission):
		return passing(v1beta2.ReasonAccessDenied, "let "+storage.FromSource(src).Identity()+" list and read objects in the bucket "+src.Bucket)
	}
	return passing(v1beta2.ReasonStoreUnreachable, "check the store's endpoint, port and TLS, and the network")
}
