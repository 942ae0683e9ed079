package verify

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// PassedBefore reports a snapshot that passed its restore test in an earlier attempt, whose status was lost.
func PassedBefore(ctx context.Context, store objstore.Store, item catalog.Item, s v1beta2.Snapshot, now time.Time) *v1beta2.BackupDrill {
	drill := &v1beta2.BackupDrill{
		Path: s.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: now}, Revision: s.Revision,
		Message: "It can be restored. An earlier attempt has tested it.",
	}
	if v, err := snapshot.ReadVerdict(ctx, store, item.Key, item.Verdict); err == nil {
		drill.Time, drill.Message = metav1.Time{Time: v.Time}, state.Clip(string(v.Message))
	}
	return drill
}

// FailedBefore reports a snapshot that failed its restore test in an earlier attempt. It does not repeat the test: the
// series takes another snapshot when the next one is due.
func FailedBefore(ctx context.Context, store objstore.Store, item catalog.Item, result state.Result, now time.Time) (state.Result, error) {
	drill := v1beta2.BackupDrill{
		Path: result.Snapshot.Path, Result: v1beta2.DrillFailed, Time: metav1.Time{Time: now}, Revision: result.Snapshot.Revision,
		Message: "An earlier attempt has tested it. The details of the result cannot be read.",
	}
	if v, err := snapshot.ReadVerdict(ctx, store, item.Key, item.Verdict); err == nil {
		drill.Time, drill.Message = metav1.Time{Time: v.Time}, state.Clip(string(v.Message))
	}
	return state.Result{Drill: &drill}, failure.New(v1beta2.ReasonSnapshotCorrupt, plan.Unusable(drill))
}

// recordVerdict writes the result of a restore test beside the snapshot, where retention and restores find it.
func recordVerdict(ctx context.Context, o state.JobSpec, store objstore.Store, d v1beta2.BackupDrill, sha256 string) error {
	verdict := snapshot.Verdict{
		Result: snapshot.Passed, Time: d.Time.UTC().Truncate(time.Second), SHA256: sha256, Backup: o.Name, Tool: clients.Tool(), Message: bounded.Message(d.Message),
	}
	if d.Result == v1beta2.DrillFailed {
		verdict.Result = snapshot.Failed
	}
	return snapshot.WriteVerdict(ctx, store, strings.TrimPrefix(d.Path, o.Target.Bucket+"/"), verdict)
}

// errReplaced means that the object and its manifest are others than those that the operator saved.
var errReplaced = errors.New("the object was replaced")

// condemns returns whether the error of a restore test means that the snapshot is unusable.
func condemns(err error) bool {
	if errors.Is(err, proof.ErrNotTested) {
		return false
	}
	for _, kind := range []error{dbfile.ErrCorrupt, dbfile.ErrNoTrailer, proof.ErrUnrestorable, proof.ErrDiffers, snapshot.ErrNotSigned, snapshot.ErrSignature, errReplaced, fs.ErrNotExist} {
		if errors.Is(err, kind) && !errors.Is(err, snapshot.ErrDisk) {
			return true
		}
	}
	return false
}
