package attempt_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// archivedWeek takes a snapshot each hour for six hours, with a continuous archive whose segments reach from the first to the last one.
func archivedWeek(t *testing.T, changes ...statetest.Change) (*attempttest.World, state.State) {
	t.Helper()
	w := attempttest.NewWorld(t)
	w.Save = func(ctx context.Context, r save.Request) (save.Saved, error) { // as world.saved, with the SHA-256 of the object
		m := snapshot.Manifest{
			FormatVersion: snapshot.FormatVersion, Cluster: r.Cluster, EtcdVersion: r.EtcdVersion, Revision: r.MinRevision + 1, Size: 4,
			SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("data"))), CreatedAt: r.Time.UTC(), Attempt: r.Attempt, Backup: r.Backup,
		}
		content, err := m.Encode()
		if err != nil {
			return save.Saved{}, err
		}
		return save.Saved{Manifest: m}, errors.Join(w.Store.Put(ctx, r.Key, strings.NewReader("data")), w.Store.Put(ctx, snapshot.ManifestKey(r.Key), strings.NewReader(string(content))))
	}
	s := statetest.Series(append([]statetest.Change{statetest.Keep(2), func(s *state.State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "168h"} }}, changes...)...)
	for hour := range 6 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		r := w.Attempt(s)
		if r.Failure != nil {
			t.Fatalf("%+v", r.Failure)
		}
		s.Status.Snapshot = r.Snapshot
	}
	root := state.JobSpecOf(s).ArchiveRoot()
	start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 42, At: statetest.T0}}, "the archive begins")
	start.Writer = "u"
	if err := w.Store.Put(t.Context(), archive.StartKey(root, 1), objstore.NewMetadata(start.Encode())); err != nil {
		t.Fatal(err)
	}
	return w, s
}

// The user moves the EtcdBackup to another bucket, and makes the earlier one the second location. The archive of the last week is still there.
func TestTheFormerFirstLocationKeepsTheBasesOfItsArchive(t *testing.T) {
	w, s := archivedWeek(t)
	before := w.SnapshotsIn("dir/snap.db/ns/b/")
	s.Spec.S3 = &v1beta2.S3Source{Path: "elsewhere/new"}
	s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket/dir/snap.db"}}}
	s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
	s.CopyTarget, s.CopyProblem = state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target)
	s.Generation++
	w.Now = statetest.At(statetest.T0.Add(6 * time.Hour))
	r := w.Attempt(s)
	if r.Failure != nil || s.CopyProblem != nil || s.Problem != nil {
		t.Fatalf("%+v %+v %+v", r.Failure, s.CopyProblem, s.Problem)
	}
	s.Status.Snapshot = r.Snapshot
	o := state.JobSpecOf(s)
	o.Kind = state.KindCopy
	r = w.Run(t.Context(), o, &queue.Progress{})
	after := w.SnapshotsIn("dir/snap.db/ns/b/")
	if after < before {
		t.Errorf("%d base snapshots of the week's archive are deleted; the segments remain without a base", before+1-after)
	}
}

// The bucket of copies refuses deletions, so that nobody deletes a backup. The operator compares both locations by a small object, which it cannot
// delete there. It must copy nevertheless, and leave one such object and not one in each run.
func TestABucketThatRefusesDeletionsGetsCopies(t *testing.T) {
	w, s := archivedWeek(t)
	second, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "copies/dir/snap.db"}}}
	if s.CopyTarget, s.CopyProblem = state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target); s.CopyProblem != nil {
		t.Fatalf("%+v", s.CopyProblem)
	}
	w.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		if a.Bucket == "copies" {
			return undeletable{Store: second}, nil
		}
		return w.Store, nil
	}
	o := state.JobSpecOf(s)
	o.Kind = state.KindCopy
	for run := range 3 {
		if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil {
			t.Fatalf("run %d: %+v", run, r.Failure)
		}
	}
	copies, probes := 0, 0
	for object, err := range second.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(object.Key, "/19700101T") {
			probes++
		} else if strings.HasSuffix(object.Key, ".db") {
			copies++
		}
	}
	if copies == 0 || probes > 1 {
		t.Errorf("%d copies and %d objects to compare", copies, probes)
	}
}

// copyTo names the bucket of the first location by another endpoint. The status said Copied, so the user deleted the "first" one, and retention of
// the second location deleted what the archive of the first one needs.
func TestACopyToTheFirstLocationUnderAnotherNameIsRefused(t *testing.T) {
	w, s := archivedWeek(t)
	before := w.SnapshotsIn("dir/snap.db/ns/b/")
	s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket/dir/snap.db", Endpoint: "https://alias.example"}}}
	if s.CopyTarget, s.CopyProblem = state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target); s.CopyProblem != nil {
		t.Fatalf("%+v", s.CopyProblem)
	}
	o := state.JobSpecOf(s)
	o.Kind = state.KindCopy
	r := w.Run(t.Context(), o, &queue.Progress{})
	if r.Failure == nil || r.Failure.Reason != v1beta2.ReasonInvalidSpec || !strings.Contains(r.Failure.Message, "under another name") {
		t.Errorf("the result is %+v", r.Failure)
	}
	if after := w.SnapshotsIn("dir/snap.db/ns/b/"); after != before {
		t.Errorf("%d snapshots before and %d after", before, after)
	}
	for _, key := range w.Keys() {
		if snapshot.IsDraft(key) {
			t.Errorf("%s is left", key)
		}
	}
}

// aheadOnce is a store that had a wrong clock while it received the objects of one snapshot.
type aheadOnce struct {
	objstore.Store
	key string
}

func (a aheadOnce) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range a.Store.List(ctx, prefix) {
			if strings.HasPrefix(o.Key, a.key) {
				o.ModTime = o.ModTime.Add(30 * 24 * time.Hour)
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// All snapshots of a window of one week are from the last hours, but the store reports a time for one of them that is 30 days ahead. If the
// operator believed it, the user would lose the snapshots of the week.
func TestOneTimeOfTheStoreThatIsAheadDeletesNoSnapshotOfTheWindow(t *testing.T) {
	w, s := archivedWeek(t)
	before := w.SnapshotsIn("dir/snap.db/ns/b/")
	w.Store = aheadOnce{Store: w.Store, key: strings.TrimPrefix(s.Status.Snapshot.Path, "bucket/")}
	w.Now = statetest.At(statetest.T0.Add(6 * time.Hour))
	r := w.Attempt(s)
	if after := w.SnapshotsIn("dir/snap.db/ns/b/"); after < before {
		t.Errorf("of %d snapshots of the window %d are left; deleted %d, problem %q, failure %v", before+1, after, r.Pruned, r.PruneProblem, r.Failure)
	}
}
