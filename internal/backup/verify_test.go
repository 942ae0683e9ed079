package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

func verifies(s *State) { s.Spec.Verify = v1beta2.VerifyRestore }

// drilling makes every restore test end with that result, and records the keys.
func drilling(w *world, found snapshot.RestoreTestResult, err error) *[]string {
	var keys []string
	w.drill = func(_ context.Context, r snapshot.RestoreTestRequest) (snapshot.RestoreTestResult, error) {
		keys = append(keys, r.Key)
		return found, err
	}
	return &keys
}

func TestVerifyRestoreTestsEachSnapshot(t *testing.T) {
	t.Run("tests the snapshot that was just taken", func(t *testing.T) {
		w := newWorld(t)
		keys := drilling(w, snapshot.RestoreTestResult{Compared: true}, nil)
		r := w.attempt(one(verifies))
		if r.Failure != nil || r.Snapshot == nil || len(*keys) != 1 || (*keys)[0] != "dir/snap.db" || r.Drill == nil || r.Drill.Result != "Passed" || !r.Drill.Compared {
			t.Errorf("%q, %+v", *keys, r)
		}
	})
	t.Run("tests no snapshot if the spec does not ask for it", func(t *testing.T) {
		w := newWorld(t)
		keys := drilling(w, snapshot.RestoreTestResult{}, nil)
		if r := w.attempt(one()); len(*keys) > 0 || r.Drill != nil {
			t.Errorf("%q, %+v", *keys, r)
		}
	})
	t.Run("the attempt fails if the snapshot cannot be restored", func(t *testing.T) {
		for _, err := range []error{dbfile.ErrCorrupt, dbfile.ErrNoTrailer, snapshot.ErrUnrestorable, snapshot.ErrDiffers, fs.ErrNotExist} {
			w := newWorld(t)
			drilling(w, snapshot.RestoreTestResult{}, fmt.Errorf("drill: %w", err))
			r := w.attempt(one(verifies))
			if r.Failure == nil || r.Failure.Reason != "SnapshotCorrupt" || r.Snapshot != nil || r.Drill == nil || r.Drill.Result != "Failed" {
				t.Errorf("%v: %+v", err, r)
			}
		}
	})
	t.Run("an unreachable store does not condemn the snapshot", func(t *testing.T) {
		w := newWorld(t)
		drilling(w, snapshot.RestoreTestResult{}, errors.New("connection reset"))
		r := w.attempt(one(verifies))
		if r.Failure == nil || r.Failure.Reason != "StoreUnreachable" || r.Drill != nil {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the message names a missing identity", func(t *testing.T) {
		w := newWorld(t)
		drilling(w, snapshot.RestoreTestResult{}, codec.ErrIdentity)
		if r := w.attempt(one(verifies)); r.Failure == nil || r.Failure.Reason != "SecretMissing" || !strings.Contains(r.Failure.Message, "age-identity") {
			t.Errorf("%+v", r.Failure)
		}
	})
	t.Run("a series takes another snapshot if one cannot be restored", func(t *testing.T) {
		w := newWorld(t)
		drilling(w, snapshot.RestoreTestResult{}, snapshot.ErrDiffers)
		broken := w.attempt(series(verifies))
		w.now = at(t0.Add(time.Hour))
		drilling(w, snapshot.RestoreTestResult{}, nil)
		r := w.attempt(series(verifies, func(s *State) { s.Status.LastDrill = broken.Drill }))
		if len(w.saves) != 2 || r.Failure != nil || r.Found {
			t.Errorf("%d saves, %+v", len(w.saves), r)
		}
	})
	t.Run("a restore test reads the newest snapshot and takes none", func(t *testing.T) {
		w := newWorld(t)
		keys := drilling(w, snapshot.RestoreTestResult{Why: "the cluster is compacted"}, nil)
		o := jobSpecOf(series(proven(time.Minute)))
		o.Kind = KindDrill
		r := w.job.attempt(t.Context(), o, &jobProgress{})
		if len(w.saves) > 0 || len(*keys) != 1 || r.Drill.Result != "Passed" || !strings.Contains(r.Drill.Message, "not compared with the cluster: the cluster is compacted") {
			t.Errorf("%d saves, %+v", len(w.saves), r.Drill)
		}
	})
}

func TestASnapshotIsComparedWithItsOwnClusterOnly(t *testing.T) {
	w := newWorld(t)
	var asked []string
	w.hash = func(_ context.Context, url string, _ ask.Access, _ int64) (uint32, int64, error) {
		asked = append(asked, url)
		if url == "bb" {
			return 0, 0, errors.New("future revision")
		}
		return 7, 3, nil
	}
	l := &live{job: w.job, clusterID: "0000000000000001"}
	w.probe = func(context.Context, []string, ask.Access) []ask.Answer {
		return []ask.Answer{member("a", 9, isDown), member("bb", 9), member("ccc", 9), member("d", 9)}
	}
	l.job = w.job
	if hash, compacted, err := l.HashKV(t.Context(), 9); err != nil || hash != 7 || compacted != 3 || strings.Join(asked, " ") != "bb ccc" {
		t.Errorf("%d %d %v, asked %q", hash, compacted, err, asked)
	}
	w.probe = func(context.Context, []string, ask.Access) []ask.Answer {
		return []ask.Answer{member("a", 9, ofCluster2), member("bb", 9, learns), member("ccc", 9, isCorrupt), member("d", 9, noQuorum)}
	}
	asked = nil
	if _, _, err := l.HashKV(t.Context(), 9); err == nil || len(asked) > 0 || !strings.Contains(err.Error(), "cluster 0000000000000002 now") {
		t.Errorf("%v, asked %q", err, asked)
	}
}

func TestASnapshotWithoutQuorum(t *testing.T) {
	lost := func(w *world) {
		w.probe = func(context.Context, []string, ask.Access) []ask.Answer {
			return []ask.Answer{member("a", 41, noQuorum)}
		}
	}
	t.Run("is refused, and the message names noQuorum: Mark", func(t *testing.T) {
		w := newWorld(t)
		lost(w)
		if r := w.attempt(one()); r.Failure == nil || r.Failure.Reason != "ClusterNotAvailable" || !strings.Contains(r.Failure.Message, "noQuorum: Mark") || len(w.saves) > 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("is marked in its manifest and in the status if noQuorum is Mark", func(t *testing.T) {
		w := newWorld(t)
		lost(w)
		if w.attempt(one(marks)); len(w.saves) != 1 || !w.saves[0].NoQuorum {
			t.Errorf("%+v", w.saves)
		}
	})
	t.Run("is not marked if the cluster has a quorum", func(t *testing.T) {
		w := newWorld(t)
		if w.attempt(one(marks)); len(w.saves) != 1 || w.saves[0].NoQuorum {
			t.Errorf("%+v", w.saves)
		}
	})
	t.Run("is taken from the most advanced voter", func(t *testing.T) {
		ahead := func(a *ask.Answer) { a.Status.RaftIndex = 100 }
		got, err := choose([]ask.Answer{member("a", 50, noQuorum), member("bb", 40, noQuorum, ahead), member("c", 60, noQuorum, learns)}, "", true)
		if err != nil || got.URL != "bb" {
			t.Errorf("%s %v", got.URL, err)
		}
	})
}

func TestTheAnnotationAsksForOneSnapshot(t *testing.T) {
	t.Run("takes a snapshot before it is due", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series())
		w.now = at(t0.Add(time.Minute))
		if r := w.attempt(series(asks("x", ""))); r.Found || len(w.saves) != 2 {
			t.Errorf("%d saves, %+v", len(w.saves), r)
		}
	})
	t.Run("takes one snapshot if the operator was killed before it could report it", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series(asks("x", "")))
		w.now = at(t0.Add(time.Minute))
		if r := w.attempt(series(asks("x", ""))); !r.Found || len(w.saves) != 1 {
			t.Errorf("%d saves, %+v", len(w.saves), r)
		}
		if r := w.attempt(series(asks("y", "x"))); r.Found || len(w.saves) != 2 {
			t.Errorf("a new value: %d saves, %+v", len(w.saves), r)
		}
	})
}

// The node has too little memory for the test. The snapshot that was asked for was accepted at each later attempt, so the schedule took no more.
func TestARequestWhoseSnapshotCannotBeTestedDoesNotStopTheSchedule(t *testing.T) {
	w := newWorld(t)
	w.drill = func(context.Context, snapshot.RestoreTestRequest) (snapshot.RestoreTestResult, error) {
		return snapshot.RestoreTestResult{}, fmt.Errorf("test: %w", dbfile.ErrMemory)
	}
	s := series(func(s *State) {
		s.Spec.BackupPolicy.Schedule, s.Spec.BackupPolicy.BackupIntervalInSecond = "0 * * * *", 0
		s.Spec.Verify, s.Request = v1beta2.VerifyRestore, "now"
	})
	const hours = 6
	for s.Now = t0; s.Now.Before(t0.Add(hours * time.Hour)); s.Now = s.Now.Add(time.Minute) {
		w.now = at(s.Now)
		step, _ := Plan(s)
		s.Status = NewStatus(s, step, nil)
		take, is := step.(TakeSnapshot)
		if !is {
			continue
		}
		o := jobSpecOf(s)
		result := w.job.attempt(t.Context(), o, &jobProgress{})
		s.Attempt = &Attempt{Request: o.Request, Generation: s.Generation, Number: take.Number, StartedAt: s.Now, Result: &result}
		step, _ = Plan(s)
		s.Status, s.Attempt = NewStatus(s, step, nil), nil
	}
	if len(w.saves) < hours-1 {
		t.Errorf("%d snapshots were taken in %d hours", len(w.saves), hours)
	}
}

func TestTwoSchedulesInOneFolderDoNotCollide(t *testing.T) {
	w := newWorld(t)
	by := func(name string, changes ...change) State {
		return series(append(changes, of(available()), func(s *State) { s.Name, s.UID = name, types.UID("uid-of-"+name) })...)
	}
	first, second := w.attempt(by("hourly", keep(1))), w.attempt(by("daily", keep(1)))
	if first.Failure != nil || second.Failure != nil || first.Found || second.Found || first.Snapshot.Path == second.Snapshot.Path {
		t.Fatalf("%+v\n%+v", first, second)
	}
	w.now = at(t0.Add(time.Hour))
	if r := w.attempt(by("hourly", keep(1))); r.Pruned != 1 || len(r.Kept) != 1 {
		t.Errorf("%+v", r)
	}
	if keys := strings.Join(w.keys(), " "); !strings.Contains(keys, strings.TrimPrefix(second.Snapshot.Path, "bucket/")) {
		t.Errorf("the other's snapshot is gone: %s", keys)
	}
}

type bucketless struct{ objstore.Store }

func (bucketless) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, objstore.ErrNoBucket) }
}

func TestDeletionPolicyDeleteDeletesTheSnapshots(t *testing.T) {
	purges := func(w *world, s State) Result {
		o := jobSpecOf(s)
		o.Kind = KindPurge
		return w.job.attempt(t.Context(), o, &jobProgress{})
	}
	t.Run("deletes its own snapshots of every incarnation, and nothing else", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series())
		w.probe = func(context.Context, []string, ask.Access) []ask.Answer {
			return []ask.Answer{member("a", 41, ofCluster2)}
		}
		w.now = at(t0.Add(time.Hour))
		w.attempt(series())
		w.now = at(t0.Add(2 * time.Hour))
		w.attempt(series(func(s *State) { s.UID = "other" }))
		if err := w.store.Put(t.Context(), seriesFolder+"notes.txt", strings.NewReader("mine")); err != nil {
			t.Fatal(err)
		}
		if r := purges(w, series()); r.Failure != nil || r.Pruned != 2 {
			t.Errorf("%+v", r)
		}
		if keys := w.keys(); len(keys) != 3 {
			t.Errorf("left %q", keys)
		}
	})
	t.Run("deletes no upload of another EtcdBackup in the folder", func(t *testing.T) {
		w := newWorld(t)
		ofCluster := func(s *State) {
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "b"}
			s.Cluster = &Cluster{Available: true, ClientURLs: []string{"http://a:2379"}}
		}
		weekly := func(s *State) { s.Name, s.UID = "weekly", "other" }
		w.attempt(series(ofCluster))
		uploaded := seriesFolder + "20260102T110000Z-00000000000000000009.db"
		if err := w.store.Put(t.Context(), uploaded, strings.NewReader("no manifest yet")); err != nil {
			t.Fatal(err)
		}
		w.now = at(time.Now().Add(time.Hour))
		w.attempt(series(ofCluster, weekly))
		if r := purges(w, series(ofCluster)); r.Failure != nil || r.Pruned != 1 || !slices.Contains(w.keys(), uploaded) {
			t.Errorf("%+v, left %q", r, w.keys())
		}
		if r := purges(w, series(ofCluster, weekly)); r.Failure != nil || !slices.Equal(w.keys(), []string{uploaded}) || !strings.Contains(r.PruneProblem, uploaded) {
			t.Errorf("the last one leaves %q: %+v", w.keys(), r)
		}
	})
	t.Run("deletes the snapshot of a one-shot, and no other object", func(t *testing.T) {
		w := newWorld(t)
		if err := w.store.Put(t.Context(), "dir/snap.db.old", strings.NewReader("mine")); err != nil {
			t.Fatal(err)
		}
		w.attempt(one())
		if r := purges(w, one()); r.Failure != nil || r.Pruned != 1 || len(w.keys()) != 1 {
			t.Errorf("%+v, left %q", r, w.keys())
		}
	})
	t.Run("succeeds if the bucket does not exist", func(t *testing.T) {
		w := newWorld(t)
		w.store = bucketless{}
		if r := purges(w, series()); r.Failure != nil || r.Pruned != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("fails if an object is locked", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series())
		w.store = locked{w.store, ""}
		if r := purges(w, series()); r.Failure == nil || r.Failure.Reason != "AccessDenied" {
			t.Errorf("%+v", r)
		}
	})
}

type locked struct {
	objstore.Store
	only string
}

func (l locked) Delete(ctx context.Context, key string) error {
	if strings.Contains(key, l.only) {
		return objstore.Mark(errors.New("object lock"), fs.ErrPermission)
	}
	return l.Store.Delete(ctx, key)
}

func TestALockedSnapshotDoesNotKeepTheOthers(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.now = at(t0.Add(time.Duration(i) * time.Hour))
		w.attempt(series())
	}
	w.now = at(t0.Add(3 * time.Hour))
	w.store = locked{w.store, "T100000Z"} // the oldest
	r := w.attempt(series(keep(1)))
	if r.Failure != nil || r.Pruned != 2 || r.PruneReason != "AccessDenied" || !strings.Contains(r.PruneProblem, "object lock") {
		t.Errorf("%+v", r)
	}
	if keys := w.keys(); len(keys) != 4 {
		t.Errorf("left %q: the locked one with its manifest, and the newest", keys)
	}
}

// The operator ends between the verdict in the store and the status. Without this, Ready remains False and the alert remains
// on, although the newest snapshot has passed its test.
func TestAVerdictWhoseStatusWasLostClearsAnEarlierFailure(t *testing.T) {
	w := newWorld(t)
	drilling(w, snapshot.RestoreTestResult{Compared: true}, nil)
	failed := func(s *State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: "bucket/dir/snap.db/ns/b/0000000000000001/old.db", Result: v1beta2.DrillFailed, Message: "differs"}
	}
	first := w.attempt(series(verifies, failed)) // its status is lost
	if first.Failure != nil || first.Drill == nil {
		t.Fatalf("%+v", first)
	}
	s := series(verifies, failed)
	r := w.attempt(s)
	if r.Failure != nil || !r.Found {
		t.Fatal(errors.New("not found"), r)
	}
	s.Attempt = &Attempt{Generation: 1, Number: 1, StartedAt: t0, Result: &r}
	step, _ := Plan(s)
	status := NewStatus(s, step, nil)
	for _, c := range status.Conditions {
		if c.Type == v1beta2.ConditionReady && c.Status != "True" {
			t.Errorf("the newest snapshot has passed its restore test, but Ready is %s: %s", c.Status, c.Message)
		}
	}
}
