package attempt_test

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// copyingTo returns a job that copies a week of snapshots to a second location. of returns the store of a bucket.
func copyingTo(t *testing.T, of func(first objstore.Store, bucket string) objstore.Store, changes ...statetest.Change) (*attempttest.World, state.JobSpec) {
	t.Helper()
	w, s := archivedWeek(t)
	for _, change := range changes {
		change(&s)
	}
	s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "copies/dir/snap.db"}}}
	if s.CopyTarget, s.CopyProblem = state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target); s.CopyProblem != nil {
		t.Fatalf("%+v", s.CopyProblem)
	}
	w.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) { return of(w.Store, a.Bucket), nil }
	o := state.JobSpecOf(s)
	o.Kind = state.KindCopy
	return w, o
}

func opened(t *testing.T) objstore.Store {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// synced copies all objects that the other store lacks, as aws s3 sync does.
func synced(t *testing.T, from, to objstore.Store) {
	t.Helper()
	for object, err := range from.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := from.Get(t.Context(), object.Key)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(body)
		if err == nil {
			err = body.Close()
		}
		if err == nil {
			err = to.Put(t.Context(), object.Key, objstore.NewMetadata(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func drafts(t *testing.T, store objstore.Store) (n int) {
	t.Helper()
	for object, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if snapshot.IsDraft(object.Key) {
			n++
		}
	}
	return n
}

// The first bucket was lost, and a person rebuilt it from the second one, which refuses deletions. The operator found its own object in both, took
// them for one store, and never copied again.
func TestAFirstLocationThatWasRebuiltFromTheSecondIsStillCopied(t *testing.T) {
	second, rebuilt, lost := opened(t), opened(t), false
	w, o := copyingTo(t, func(first objstore.Store, bucket string) objstore.Store {
		switch {
		case bucket == "copies":
			return undeletable{Store: second}
		case lost:
			return rebuilt
		}
		return first
	})
	if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil {
		t.Fatalf("%+v", r.Failure)
	}
	left := drafts(t, second) // of the copies, too
	for try := range 5 {
		lost = true
		if rebuilt = opened(t); try == 3 {
			rebuilt = undeletable{Store: rebuilt}
		}
		synced(t, second, rebuilt)
		for run := range 3 {
			w.Now = func() time.Time { return statetest.T0.Add(48 * time.Hour) }
			if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil {
				t.Fatalf("rebuilt %d times, run %d: %+v", try+1, run, *r.Failure)
			}
		}
		if n := drafts(t, second); n > left+try+1 {
			t.Errorf("rebuilt %d times: each run leaves an object in the second location, and there are %d", try+1, n)
		}
	}
}

func TestOneStoreUnderTwoNamesIsNoCopyAndTheStatusNamesTheProof(t *testing.T) {
	for name, of := range map[string]func(objstore.Store) objstore.Store{
		"it permits deletions": func(s objstore.Store) objstore.Store { return s },
		"it refuses deletions": func(s objstore.Store) objstore.Store { return undeletable{Store: s} },
	} {
		w, o := copyingTo(t, func(first objstore.Store, _ string) objstore.Store { return of(first) })
		for run := range 12 {
			r := w.Run(t.Context(), o, &queue.Progress{})
			if r.Failure == nil || !strings.Contains(r.Failure.Message, "wrote the object dir/snap.db/ns/b/") {
				t.Fatalf("%s, run %d: %+v", name, run, r.Failure)
			}
		}
		if n := drafts(t, w.Store); name == "it permits deletions" && n > 0 {
			t.Errorf("%d objects are left", n)
		}
	}
}

// folderOnly is a bucket whose policy allows the folder of the copies, and no other one.
type folderOnly struct{ objstore.Store }

func (f folderOnly) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	if !strings.HasPrefix(prefix, "dir/snap.db") {
		return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, fs.ErrPermission) }
	}
	return f.Store.List(ctx, prefix)
}

func TestASecondBucketThatAllowsOnlyTheFolderOfTheCopiesGetsThem(t *testing.T) {
	for name, changes := range map[string][]statetest.Change{
		"no archive": {func(s *state.State) { s.Spec.Continuous = nil }},
		"an archive": nil,
	} {
		second := opened(t)
		w, o := copyingTo(t, func(first objstore.Store, bucket string) objstore.Store {
			if bucket == "copies" {
				return folderOnly{Store: second}
			}
			return first
		}, changes...)
		r := w.Run(t.Context(), o, &queue.Progress{})
		if r.Failure != nil || r.PruneProblem != "" || r.CopyProblem != "" {
			t.Errorf("%s: %+v %q %q", name, r.Failure, r.PruneProblem, r.CopyProblem)
		}
	}
}
