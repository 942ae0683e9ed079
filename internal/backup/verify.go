package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// verify runs the restore test of a snapshot that was just taken, if the spec asks for it.
func (t *job) verify(ctx context.Context, o jobSpec, store objstore.Store, result Result, progress *jobProgress) (Result, error) {
	if !o.Verify {
		return result, nil
	}
	progress.leaveLane() // the snapshot is in the store, so others need not wait for its test
	var err error
	if result.Drill, _, err = t.prove(ctx, o, store, *result.Snapshot, progress); err != nil {
		return Result{Untested: untestedSince(err, *result.Snapshot)}, err
	}
	if result.Drill.Result == v1beta2.DrillFailed {
		return Result{Drill: result.Drill}, fail(v1beta2.ReasonSnapshotCorrupt, unusable(*result.Drill))
	}
	return result, nil
}

// untestedSince returns when the snapshot was taken. It returns zero if a user can do something at once, such as to create a
// Secret: then the next attempt follows soon.
func untestedSince(err error, s v1beta2.Snapshot) time.Time {
	var known *failedError
	if errors.As(err, &known) {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, s.CreatedAt)
	return at
}

// passedBefore reports a snapshot that passed its restore test in an earlier attempt, whose status was lost.
func passedBefore(ctx context.Context, store objstore.Store, item snapshot.Item, s v1beta2.Snapshot, now time.Time) *v1beta2.BackupDrill {
	drill := &v1beta2.BackupDrill{
		Path: s.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: now}, Revision: s.Revision,
		Message: "It can be restored. An earlier attempt has tested it.",
	}
	if v, err := snapshot.ReadVerdict(ctx, store, item.Key, item.Verdict); err == nil {
		drill.Time, drill.Message = metav1.Time{Time: v.Time}, clip(string(v.Message))
	}
	return drill
}

// failedBefore reports a snapshot that failed its restore test in an earlier attempt. It does not repeat the test: the
// series takes another snapshot when the next one is due.
func failedBefore(ctx context.Context, store objstore.Store, item snapshot.Item, result Result, now time.Time) (Result, error) {
	drill := v1beta2.BackupDrill{
		Path: result.Snapshot.Path, Result: v1beta2.DrillFailed, Time: metav1.Time{Time: now}, Revision: result.Snapshot.Revision,
		Message: "An earlier attempt has tested it. The details of the result cannot be read.",
	}
	if v, err := snapshot.ReadVerdict(ctx, store, item.Key, item.Verdict); err == nil {
		drill.Time, drill.Message = metav1.Time{Time: v.Time}, clip(string(v.Message))
	}
	return Result{Drill: &drill}, fail(v1beta2.ReasonSnapshotCorrupt, unusable(drill))
}

// drillNewest runs the restore test of the newest snapshot.
func (t *job) drillNewest(ctx context.Context, o jobSpec, progress *jobProgress) (Result, error) {
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	if skipped, err := t.withoutIdentity(ctx, o); err != nil || skipped != nil {
		return Result{Proof: skipped}, err
	}
	drill, restored, err := t.prove(ctx, o, store, o.Newest, progress)
	if err != nil || drill.Result == v1beta2.DrillFailed || !o.Prove {
		return Result{Drill: drill}, err
	}
	proof, err := t.proveArchive(ctx, o, store, restored, progress)
	return Result{Drill: drill, Proof: proof}, err
}

// record writes the result of a restore test beside the snapshot, where retention and restores find it.
func (o jobSpec) record(ctx context.Context, store objstore.Store, d v1beta2.BackupDrill, sha256 string) error {
	verdict := snapshot.Verdict{
		Result: snapshot.Passed, Time: d.Time.UTC().Truncate(time.Second), SHA256: sha256, Backup: o.Name, Tool: tool(), Message: bounded.Message(d.Message),
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
	if errors.Is(err, snapshot.ErrNotTested) {
		return false
	}
	for _, kind := range []error{dbfile.ErrCorrupt, dbfile.ErrNoTrailer, snapshot.ErrUnrestorable, snapshot.ErrDiffers, snapshot.ErrNotSigned, snapshot.ErrSignature, errReplaced, fs.ErrNotExist} {
		if errors.Is(err, kind) && !errors.Is(err, snapshot.ErrDisk) {
			return true
		}
	}
	return false
}

// live reads the hash of the snapshot's cluster.
type live struct {
	*job
	spec      jobSpec
	by        ask.Access
	clusterID string
	// history is the last recovery from a lost quorum before the snapshot.
	history string
}

// HashKV returns the hash of the first member that can compute it. A cluster with another ID, for example after a
// restore, has another history, so it cannot be compared. A recovery from a lost quorum keeps the ID, and may lack the last writes of the
// snapshot.
func (l *live) HashKV(ctx context.Context, revision int64) (uint32, int64, error) {
	var errs []error
	for _, a := range l.probe(ctx, l.spec.URLs, l.by) {
		switch {
		case a.Err != nil:
			errs = append(errs, a.Err)
		case a.Status.ClusterID.String() != l.clusterID:
			errs = append(errs, fmt.Errorf("%s is a member of cluster %s now", a.URL, a.Status.ClusterID))
		case a.NotServing != nil, a.Status.Learner, corrupt(a.Status):
			errs = append(errs, fmt.Errorf("%s is not healthy", a.URL))
		default:
			hash, compacted, err := l.hash(ctx, a.URL, l.by, revision)
			if err == nil {
				return hash, compacted, l.sameHistory(ctx)
			}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("the status lists no member of the cluster"))
	}
	return 0, 0, errors.Join(errs...)
}

// sameHistory returns an error if the cluster has recovered from a lost quorum since the snapshot, or if that is not known. It is called after
// the hash was read.
func (l *live) sameHistory(ctx context.Context) error {
	if err := l.confirmRecovery(ctx, l.spec, l.history); err != nil {
		return fmt.Errorf("the snapshot may be from before a recovery from a lost quorum: %w", err)
	}
	return nil
}

// hashTimeout limits how long a member may hash its database.
const hashTimeout = 2 * time.Minute

// hashOf reads the hash of one member.
func hashOf(ctx context.Context, url string, by ask.Access, revision int64) (uint32, int64, error) {
	client, err := by.Open(url)
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	return client.HashKV(ctx, revision)
}
