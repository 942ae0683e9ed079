package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/copier"
)

// secondIn is the job spec for the second location in a store. With a continuous archive, which is copied there, retention keeps what the archive needs. So it
// does if an archive of this cluster is there for another reason: the location was the first one once, or is it under another name.
func secondIn(ctx context.Context, o state.JobSpec, to objstore.Store) (state.JobSpec, error) {
	second := o.Second()
	if !o.Archived {
		return second, nil
	}
	_, archived, err := archive.Newest(ctx, to, second.ArchiveRoot())
	refused := errors.Is(err, fs.ErrPermission) // it may be there, and its proofs cannot be read
	if err != nil && !refused {
		return second, err
	}
	if archived || refused || o.Keep.Window > 0 {
		second.Archived, second.Keep.Window, second.Distrusted = archived, o.Keep.Window, o.Distrusted
	}
	return second, nil
}

// copyTo copies snapshots to the second location, and deletes there what retention does not keep. It asks no member: the
// series is that of the newest snapshot.
func (t *Job) copyTo(ctx context.Context, o state.JobSpec, progress *queue.Progress) (state.Result, error) {
	progress.Stage("copying snapshots")
	id, err := strconv.ParseUint(o.Newest.ClusterID, 16, 64)
	if err != nil {
		return state.Result{}, fmt.Errorf("the cluster ID of the newest snapshot is %q: %w", o.Newest.ClusterID, err)
	}
	from, err := t.Store(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	to, err := t.Store(ctx, o.Second())
	if err != nil {
		return state.Result{}, err
	}
	if err := t.sameStore(ctx, o, etcd.ID(id), from, to); err != nil {
		return state.Result{}, err
	}
	second, err := secondIn(ctx, o, to)
	if err != nil {
		return state.Result{}, ofLocation(ctx, err, o.Second())
	}
	_, signers, err := t.Signing(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	keep := second.Keep
	keep.Now, keep.Signers = t.Now(), signers
	done, err := copier.Copy(ctx, copier.Request{
		From: from, To: to, FromSeries: o.SeriesOf(etcd.ID(id)), ToSeries: second.SeriesOf(etcd.ID(id)), Policy: keep, Signers: signers,
		Progress: func(key string, size int64) func(int64) { return progress.Passing("copying "+key, size) },
	})
	if !done.Tried {
		return state.Result{}, ofLocation(ctx, err, second)
	}
	result := state.Result{Missing: done.Missing}
	if done.Last == "" {
		result.Missing = 0 // another run would copy nothing either
	}
	s := stored{store: to, series: second.SeriesOf(etcd.ID(id)), index: done.Index, known: done.Known, signers: signers, previous: done.Before}
	if done.Last != "" {
		s.ahead = aheadOf(ctx, to, snapshot.ManifestKey(done.Last), t.Now())
	}
	_, incomplete := s.complete(ctx, second, "", t.Now())
	blame(&result, second, incomplete)
	if failed := s.compareClocks(ctx, second, t.Now); failed != nil {
		result.Kept = t.kept(ctx, second, s, nil)
		blame(&result, second, failed) // the copies are there, and none of them is deleted
	} else {
		t.tidy(ctx, second, s, "", &result)
	}
	return uncopied(ctx, result, o, err)
}

// sameStore fails if the second location is the first one under another name, for example of an endpoint: there would be no copy.
func (t *Job) sameStore(ctx context.Context, o state.JobSpec, id etcd.ID, from, to objstore.Store) error {
	if o.Copy.Key != o.Target.Key {
		return nil
	}
	pair := o.Target.Store() + " " + o.Target.Path() + "\n" + o.Copy.Store() + " " + o.Copy.Path()
	proof, err := copier.SameStore(ctx, from, to, o.SeriesOf(id), string(o.UID), pair)
	switch {
	case err != nil:
		return ofLocation(ctx, err, o.Second())
	case proof != "":
		return &failure.Error{Failure: *state.Invalid("copyTo %s is the first location %s under another name. The operator wrote the object %s to one of them, and it appeared in the other. "+
			"So there is no copy. Write another bucket or folder.", o.Copy.Path(), o.Target.Path(), proof)}
	}
	return nil
}
