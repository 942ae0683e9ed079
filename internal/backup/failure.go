package backup

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// failedError is a Failure on its way, where its reason is known at the spot.
type failedError struct{ Failure }

func (e *failedError) Error() string { return e.Message }

func fail(reason, message string) error { return &failedError{Failure{reason, message}} }

// classify turns the error of an attempt into one of the API's reasons and what to do about it; expired says that
// the attempt's time was over. Whatever nothing else is known of is an answer of the store, or none.
func classify(err error, o order, expired bool) *Failure {
	var known *failedError
	var panicked *worker.PanicError
	say := func(reason, advice string) *Failure { return &Failure{reason, err.Error() + "; " + advice} }
	switch {
	case errors.As(err, &panicked):
		return say(v1beta2.ReasonRetrying, "please report this; the operator's log has the stack")
	case errors.Is(err, fs.ErrExist):
		return say(v1beta2.ReasonObjectExists, "nothing that exists is ever overwritten")
	case errors.Is(err, dbfile.ErrCorrupt), errors.Is(err, dbfile.ErrNoTrailer):
		return say(v1beta2.ReasonSnapshotCorrupt, "nothing was stored; compare the members (etcdutl hashkv) and look at the disk of the one that sent it")
	case expired:
		return say(v1beta2.ReasonDeadlineExceeded, fmt.Sprintf("an attempt may take %s: raise backupPolicy.timeoutInSecond, or see what is slow", o.Timeout))
	case errors.As(err, &known):
		return &known.Failure
	case errors.Is(err, kube.ErrSecretMissing):
		return &Failure{v1beta2.ReasonSecretMissing, err.Error()}
	case errors.Is(err, snapshot.ErrDisk):
		return say(v1beta2.ReasonRetrying, "the spool volume of the operator must have room for the database, once for each snapshot taken at a time")
	case errors.Is(err, snapshot.ErrSource):
		return say(v1beta2.ReasonEndpointUnreachable, "see whether the member and the network are well")
	case errors.Is(err, snapshot.ErrStale):
		return say(v1beta2.ReasonRetrying, "the member lags behind its cluster")
	case errors.Is(err, objstore.ErrNoBucket):
		return say(v1beta2.ReasonBucketNotFound, fmt.Sprintf("create the bucket %s, or correct path", o.Target.Bucket))
	case errors.Is(err, fs.ErrPermission):
		return say(v1beta2.ReasonAccessDenied, "let "+o.Target.Identity()+" list, read, write and delete objects in the bucket "+o.Target.Bucket)
	}
	return say(v1beta2.ReasonStoreUnreachable, "check the store's endpoint, port and TLS, and the network")
}
