package verify

import (
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// Some tests of this package use attempttest, which imports it.
var ErrStillFailed = errStillFailed

// ChooseInterval returns the key of the snapshot with which the proof begins, and the path of that with which it ends.
func ChooseInterval(ctx context.Context, o state.JobSpec, store objstore.Store, revision int64) (from, to string, found bool, err error) {
	what, found, err := chooseInterval(ctx, o, store, revision)
	return what.choice.Base.Key, what.to.Path, found, err
}

// SaysOfPassed returns the message of a proof of the interval that is chosen, if it passes.
func SaysOfPassed(ctx context.Context, o state.JobSpec, store objstore.Store, revision int64) string {
	what, _, _ := chooseInterval(ctx, o, store, revision)
	return what.holds(revision)
}

// UnreadOfPassed returns the key of the segment that such a proof records.
func UnreadOfPassed(ctx context.Context, o state.JobSpec, store objstore.Store, revision int64) string {
	what, _, _ := chooseInterval(ctx, o, store, revision)
	return archive.SegmentOf(what.unread)
}

func LiveOf(t *Tester, clusterID string) proof.Live { return &live{Tester: t, clusterID: clusterID} }

func (t *Tester) ProveArchive(ctx context.Context, o state.JobSpec, store objstore.Store, want dbfile.KVHash, progress *queue.Progress) (*v1beta2.ArchiveProof, error) {
	return t.proveArchive(ctx, o, store, want, progress)
}

func (t *Tester) WithoutIdentity(ctx context.Context, o state.JobSpec) (*v1beta2.ArchiveProof, error) {
	return t.withoutIdentity(ctx, o)
}
