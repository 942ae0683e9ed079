package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// laneCopy has workers of its own. One bucket may use all of them but one, and one namespace all of a bucket but one.
const (
	laneCopy  = "copy"
	maxCopies = 3
)

// second is the job spec for the second location, which has no archive unless secondOf finds one.
func (o jobSpec) second() jobSpec {
	o.Target = *o.Copy
	o.Archived, o.Keep.Window, o.Distrusted = false, 0, nil
	return o
}

// secondOf is the job spec for the second location in a store. If an archive of this cluster is there, the location was the first one once, or is
// it under another name. Then retention keeps what that archive needs.
func (o jobSpec) secondOf(ctx context.Context, to objstore.Store) (jobSpec, error) {
	second := o.second()
	if !o.Archived {
		return second, nil
	}
	_, archived, err := archive.Newest(ctx, to, second.archiveRoot())
	refused := errors.Is(err, fs.ErrPermission) // it may be there, and its proofs cannot be read
	if err != nil && !refused {
		return second, err
	}
	if archived || refused {
		second.Archived, second.Keep.Window, second.Distrusted = archived, o.Keep.Window, o.Distrusted
	}
	return second, nil
}

// copyTo copies snapshots to the second location, and deletes there what retention does not keep. It asks no member: the
// series is that of the newest snapshot.
func (t *job) copyTo(ctx context.Context, o jobSpec, progress *jobProgress) (Result, error) {
	progress.stage("copying snapshots")
	id, err := strconv.ParseUint(o.Newest.ClusterID, 16, 64)
	if err != nil {
		return Result{}, fmt.Errorf("the cluster ID of the newest snapshot is %q: %w", o.Newest.ClusterID, err)
	}
	from, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	to, err := t.store(ctx, o.second())
	if err != nil {
		return Result{}, err
	}
	if err := t.sameStore(ctx, o, etcd.ID(id), from, to); err != nil {
		return Result{}, err
	}
	second, err := o.secondOf(ctx, to)
	if err != nil {
		return Result{}, ofLocation(ctx, err, o.second())
	}
	_, signers, err := t.signing(ctx, o)
	if err != nil {
		return Result{}, err
	}
	keep := second.Keep
	keep.Now = t.now()
	done, err := snapshot.Copy(ctx, snapshot.CopyRequest{
		From: from, To: to, FromSeries: o.seriesOf(etcd.ID(id)), ToSeries: second.seriesOf(etcd.ID(id)), Policy: keep, Signers: signers,
		Progress: func(key string, size int64) func(int64) { return progress.passing("copying "+key, size) },
	})
	if !done.Tried {
		return Result{}, ofLocation(ctx, err, second)
	}
	result := Result{Missing: done.Missing}
	if done.Last == "" {
		result.Missing = 0 // another run would copy nothing either
	}
	s := stored{store: to, series: second.seriesOf(etcd.ID(id)), index: done.Index, known: done.Known, signers: signers, previous: done.Before}
	if done.Last != "" {
		s.ahead = aheadOf(ctx, to, snapshot.ManifestKey(done.Last), t.now())
	}
	_, incomplete := s.complete(ctx, second, "", t.now())
	result.blame(second, incomplete)
	if failed := s.compareClocks(ctx, second, t.now); failed != nil {
		result.Kept = t.kept(ctx, second, s, nil)
		result.blame(second, failed) // the copies are there, and none of them is deleted
	} else {
		t.tidy(ctx, second, s, "", &result)
	}
	return result.uncopied(ctx, o, err)
}

// sameStore fails if the second location is the first one under another name, for example of an endpoint: there would be no copy.
func (t *job) sameStore(ctx context.Context, o jobSpec, id etcd.ID, from, to objstore.Store) error {
	if o.Copy.Key != o.Target.Key {
		return nil
	}
	pair := o.Target.Store() + " " + o.Target.Path() + "\n" + o.Copy.Store() + " " + o.Copy.Path()
	proof, err := snapshot.SameStore(ctx, from, to, o.seriesOf(id), string(o.UID), pair)
	switch {
	case err != nil:
		return ofLocation(ctx, err, o.second())
	case proof != "":
		return &failedError{*invalid("copyTo %s is the first location %s under another name. The operator wrote the object %s to one of them, and it appeared in the other. "+
			"So there is no copy. Write another bucket or folder.", o.Copy.Path(), o.Target.Path(), proof)}
	}
	return nil
}

// uncopied adds to the result why some snapshots could not be copied. It is an error if the newest is one of them, or if an object is damaged.
func (r Result) uncopied(ctx context.Context, o jobSpec, err error) (Result, error) {
	if err == nil {
		return r, nil
	}
	err = ofLocation(ctx, err, o.second())
	newest := len(r.Kept) > 0 && r.Kept[0].SHA256 == o.Newest.SHA256
	if !newest || errors.Is(err, dbfile.ErrCorrupt) {
		return r, err
	}
	r.CopyProblem = classify(err, o, false).Message
	return r, nil
}

// ofLocation classifies an error of the second location, so that its advice names the right bucket.
func ofLocation(ctx context.Context, err error, second jobSpec) error {
	if errors.Is(err, snapshot.ErrCopySource) {
		return err
	}
	return &failedError{*classify(err, second, errors.Is(context.Cause(ctx), context.DeadlineExceeded))}
}

// copyTarget returns the second location, or what is wrong with it. That stops no snapshots.
func copyTarget(namespace, name string, spec v1beta2.EtcdBackupSpec, first storage.Location) (storage.Location, *Failure) {
	if spec.CopyTo == nil {
		return storage.Location{}, nil
	}
	l, problem := storage.Spec{Field: "copyTo.storageType", Type: spec.CopyTo.StorageType, Block: spec.CopyTo.Storage}.Location()
	if problem != nil {
		return storage.Location{}, (*Failure)(problem)
	}
	if err := checkSeries(l.Key, namespace, name, spec); err != nil {
		return storage.Location{}, invalid("copyTo: path: %v. Write another path.", err)
	}
	same := func(a, b string) bool { return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/")) }
	if l.Provider == first.Provider && same(l.Endpoint, first.Endpoint) && l.Path() == first.Path() {
		return storage.Location{}, invalid("copyTo is the first location, so there is no copy. Write another bucket or folder.")
	}
	return l, nil
}
