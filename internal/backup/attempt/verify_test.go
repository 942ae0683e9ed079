package attempt_test

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
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

func TestVerifyRestoreTestsEachSnapshot(t *testing.T) {
	t.Run("tests the snapshot that was just taken", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		keys := attempttest.Drilling(w, proof.RestoreTestResult{Compared: true}, nil)
		r := w.Attempt(statetest.One(statetest.Verifies))
		if r.Failure != nil || r.Snapshot == nil || len(*keys) != 1 || (*keys)[0] != "dir/snap.db" || r.Drill == nil || r.Drill.Result != "Passed" || !r.Drill.Compared {
			t.Errorf("%q, %+v", *keys, r)
		}
	})
	t.Run("tests no snapshot if the spec does not ask for it", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		keys := attempttest.Drilling(w, proof.RestoreTestResult{}, nil)
		if r := w.Attempt(statetest.One()); len(*keys) > 0 || r.Drill != nil {
			t.Errorf("%q, %+v", *keys, r)
		}
	})
	t.Run("the attempt fails if the snapshot cannot be restored", func(t *testing.T) {
		for _, err := range []error{dbfile.ErrCorrupt, dbfile.ErrNoTrailer, proof.ErrUnrestorable, proof.ErrDiffers, fs.ErrNotExist} {
			w := attempttest.NewWorld(t)
			attempttest.Drilling(w, proof.RestoreTestResult{}, fmt.Errorf("drill: %w", err))
			r := w.Attempt(statetest.One(statetest.Verifies))
			if r.Failure == nil || r.Failure.Reason != "SnapshotCorrupt" || r.Snapshot != nil || r.Drill == nil || r.Drill.Result != "Failed" {
				t.Errorf("%v: %+v", err, r)
			}
		}
	})
	t.Run("an unreachable store does not condemn the snapshot", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		attempttest.Drilling(w, proof.RestoreTestResult{}, errors.New("connection reset"))
		r := w.Attempt(statetest.One(statetest.Verifies))
		if r.Failure == nil || r.Failure.Reason != "StoreUnreachable" || r.Drill != nil {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the message names a missing identity", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		attempttest.Drilling(w, proof.RestoreTestResult{}, codec.ErrIdentity)
		if r := w.Attempt(statetest.One(statetest.Verifies)); r.Failure == nil || r.Failure.Reason != "SecretMissing" || !strings.Contains(r.Failure.Message, "age-identity") {
			t.Errorf("%+v", r.Failure)
		}
	})
	t.Run("a series takes another snapshot if one cannot be restored", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		attempttest.Drilling(w, proof.RestoreTestResult{}, proof.ErrDiffers)
		broken := w.Attempt(statetest.Series(statetest.Verifies))
		w.Now = statetest.At(statetest.T0.Add(time.Hour))
		attempttest.Drilling(w, proof.RestoreTestResult{}, nil)
		r := w.Attempt(statetest.Series(statetest.Verifies, func(s *state.State) { s.Status.LastDrill = broken.Drill }))
		if len(w.Saves) != 2 || r.Failure != nil || r.Found {
			t.Errorf("%d saves, %+v", len(w.Saves), r)
		}
	})
	t.Run("a restore test reads the newest snapshot and takes none", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		keys := attempttest.Drilling(w, proof.RestoreTestResult{Why: "the cluster is compacted"}, nil)
		o := state.JobSpecOf(statetest.Series(statetest.Proven(time.Minute)))
		o.Kind = state.KindDrill
		r := w.Run(t.Context(), o, &queue.Progress{})
		if len(w.Saves) > 0 || len(*keys) != 1 || r.Drill.Result != "Passed" || !strings.Contains(r.Drill.Message, "not compared with the cluster: the cluster is compacted") {
			t.Errorf("%d saves, %+v", len(w.Saves), r.Drill)
		}
	})
}

func TestASnapshotWithoutQuorum(t *testing.T) {
	lost := func(w *attempttest.World) {
		w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
			return []ask.Answer{clientstest.Member("a", 41, clientstest.NoQuorum)}
		}
	}
	t.Run("is refused, and the message names noQuorum: Mark", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		lost(w)
		if r := w.Attempt(statetest.One()); r.Failure == nil || r.Failure.Reason != "ClusterNotAvailable" || !strings.Contains(r.Failure.Message, "noQuorum: Mark") || len(w.Saves) > 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("is marked in its manifest and in the status if noQuorum is Mark", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		lost(w)
		if w.Attempt(statetest.One(statetest.Marks)); len(w.Saves) != 1 || !w.Saves[0].NoQuorum {
			t.Errorf("%+v", w.Saves)
		}
	})
	t.Run("is not marked if the cluster has a quorum", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		if w.Attempt(statetest.One(statetest.Marks)); len(w.Saves) != 1 || w.Saves[0].NoQuorum {
			t.Errorf("%+v", w.Saves)
		}
	})
	t.Run("is taken from the most advanced voter", func(t *testing.T) {
		ahead := func(a *ask.Answer) { a.Status.RaftIndex = 100 }
		got, err := clients.Choose([]ask.Answer{clientstest.Member("a", 50, clientstest.NoQuorum), clientstest.Member("bb", 40, clientstest.NoQuorum, ahead), clientstest.Member("c", 60, clientstest.NoQuorum, clientstest.Learns)}, "", true)
		if err != nil || got.URL != "bb" {
			t.Errorf("%s %v", got.URL, err)
		}
	})
}

func TestTheAnnotationAsksForOneSnapshot(t *testing.T) {
	t.Run("takes a snapshot before it is due", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series())
		w.Now = statetest.At(statetest.T0.Add(time.Minute))
		if r := w.Attempt(statetest.Series(statetest.Asks("x", ""))); r.Found || len(w.Saves) != 2 {
			t.Errorf("%d saves, %+v", len(w.Saves), r)
		}
	})
	t.Run("takes one snapshot if the operator was killed before it could report it", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series(statetest.Asks("x", "")))
		w.Now = statetest.At(statetest.T0.Add(time.Minute))
		if r := w.Attempt(statetest.Series(statetest.Asks("x", ""))); !r.Found || len(w.Saves) != 1 {
			t.Errorf("%d saves, %+v", len(w.Saves), r)
		}
		if r := w.Attempt(statetest.Series(statetest.Asks("y", "x"))); r.Found || len(w.Saves) != 2 {
			t.Errorf("a new value: %d saves, %+v", len(w.Saves), r)
		}
	})
}

// The node has too little memory for the test. The snapshot that was asked for was accepted at each later attempt, so the schedule took no more.
func TestARequestWhoseSnapshotCannotBeTestedDoesNotStopTheSchedule(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Drill = func(context.Context, proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
		return proof.RestoreTestResult{}, fmt.Errorf("test: %w", dbfile.ErrMemory)
	}
	s := statetest.Series(func(s *state.State) {
		s.Spec.BackupPolicy.Schedule, s.Spec.BackupPolicy.BackupIntervalInSecond = "0 * * * *", 0
		s.Spec.Verify, s.Request = v1beta2.VerifyRestore, "now"
	})
	const hours = 6
	for s.Now = statetest.T0; s.Now.Before(statetest.T0.Add(hours * time.Hour)); s.Now = s.Now.Add(time.Minute) {
		w.Now = statetest.At(s.Now)
		step, _ := plan.Plan(s)
		s.Status = status.NewStatus(s, step, nil)
		take, is := step.(plan.TakeSnapshot)
		if !is {
			continue
		}
		o := state.JobSpecOf(s)
		result := w.Run(t.Context(), o, &queue.Progress{})
		s.Attempt = &state.Attempt{Request: o.Request, Generation: s.Generation, Number: take.Number, StartedAt: s.Now, Result: &result}
		step, _ = plan.Plan(s)
		s.Status, s.Attempt = status.NewStatus(s, step, nil), nil
	}
	if len(w.Saves) < hours-1 {
		t.Errorf("%d snapshots were taken in %d hours", len(w.Saves), hours)
	}
}

func TestTwoSchedulesInOneFolderDoNotCollide(t *testing.T) {
	w := attempttest.NewWorld(t)
	by := func(name string, changes ...statetest.Change) state.State {
		return statetest.Series(append(changes, statetest.Of(statetest.Available()), func(s *state.State) { s.Name, s.UID = name, types.UID("uid-of-"+name) })...)
	}
	first, second := w.Attempt(by("hourly", statetest.Keep(1))), w.Attempt(by("daily", statetest.Keep(1)))
	if first.Failure != nil || second.Failure != nil || first.Found || second.Found || first.Snapshot.Path == second.Snapshot.Path {
		t.Fatalf("%+v\n%+v", first, second)
	}
	w.Now = statetest.At(statetest.T0.Add(time.Hour))
	if r := w.Attempt(by("hourly", statetest.Keep(1))); r.Pruned != 1 || len(r.Kept) != 1 {
		t.Errorf("%+v", r)
	}
	if keys := strings.Join(w.Keys(), " "); !strings.Contains(keys, strings.TrimPrefix(second.Snapshot.Path, "bucket/")) {
		t.Errorf("the other's snapshot is gone: %s", keys)
	}
}

type bucketless struct{ objstore.Store }

func (bucketless) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, objstore.ErrNoBucket) }
}

func TestDeletionPolicyDeleteDeletesTheSnapshots(t *testing.T) {
	purges := func(w *attempttest.World, s state.State) state.Result {
		o := state.JobSpecOf(s)
		o.Kind = state.KindPurge
		return w.Run(t.Context(), o, &queue.Progress{})
	}
	t.Run("deletes its own snapshots of every incarnation, and nothing else", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series())
		w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
			return []ask.Answer{clientstest.Member("a", 41, clientstest.OfCluster2)}
		}
		w.Now = statetest.At(statetest.T0.Add(time.Hour))
		w.Attempt(statetest.Series())
		w.Now = statetest.At(statetest.T0.Add(2 * time.Hour))
		w.Attempt(statetest.Series(func(s *state.State) { s.UID = "other" }))
		if err := w.Store.Put(t.Context(), seriesFolder+"notes.txt", strings.NewReader("mine")); err != nil {
			t.Fatal(err)
		}
		if r := purges(w, statetest.Series()); r.Failure != nil || r.Pruned != 2 {
			t.Errorf("%+v", r)
		}
		if keys := w.Keys(); len(keys) != 3 {
			t.Errorf("left %q", keys)
		}
	})
	t.Run("deletes no upload of another EtcdBackup in the folder", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		ofCluster := func(s *state.State) {
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "b"}
			s.Cluster = &state.Cluster{Available: true, ClientURLs: []string{"http://a:2379"}}
		}
		weekly := func(s *state.State) { s.Name, s.UID = "weekly", "other" }
		w.Attempt(statetest.Series(ofCluster))
		uploaded := seriesFolder + "20260102T110000Z-00000000000000000009.db"
		if err := w.Store.Put(t.Context(), uploaded, strings.NewReader("no manifest yet")); err != nil {
			t.Fatal(err)
		}
		w.Now = statetest.At(time.Now().Add(time.Hour))
		w.Attempt(statetest.Series(ofCluster, weekly))
		if r := purges(w, statetest.Series(ofCluster)); r.Failure != nil || r.Pruned != 1 || !slices.Contains(w.Keys(), uploaded) {
			t.Errorf("%+v, left %q", r, w.Keys())
		}
		if r := purges(w, statetest.Series(ofCluster, weekly)); r.Failure != nil || !slices.Equal(w.Keys(), []string{uploaded}) || !strings.Contains(r.PruneProblem, uploaded) {
			t.Errorf("the last one leaves %q: %+v", w.Keys(), r)
		}
	})
	t.Run("deletes the snapshot of a one-shot, and no other object", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		if err := w.Store.Put(t.Context(), "dir/snap.db.old", strings.NewReader("mine")); err != nil {
			t.Fatal(err)
		}
		w.Attempt(statetest.One())
		if r := purges(w, statetest.One()); r.Failure != nil || r.Pruned != 1 || len(w.Keys()) != 1 {
			t.Errorf("%+v, left %q", r, w.Keys())
		}
	})
	t.Run("succeeds if the bucket does not exist", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Store = bucketless{}
		if r := purges(w, statetest.Series()); r.Failure != nil || r.Pruned != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("fails if an object is locked", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series())
		w.Store = locked{Store: w.Store, only: ""}
		if r := purges(w, statetest.Series()); r.Failure == nil || r.Failure.Reason != "AccessDenied" {
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
	w := attempttest.NewWorld(t)
	for i := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(i) * time.Hour))
		w.Attempt(statetest.Series())
	}
	w.Now = statetest.At(statetest.T0.Add(3 * time.Hour))
	w.Store = locked{Store: w.Store, only: "T100000Z"} // the oldest
	r := w.Attempt(statetest.Series(statetest.Keep(1)))
	if r.Failure != nil || r.Pruned != 2 || r.PruneReason != "AccessDenied" || !strings.Contains(r.PruneProblem, "object lock") {
		t.Errorf("%+v", r)
	}
	if keys := w.Keys(); len(keys) != 4 {
		t.Errorf("left %q: the locked one with its manifest, and the newest", keys)
	}
}

// The operator ends between the verdict in the store and the status. Without this, Ready remains False and the alert remains
// on, although the newest snapshot has passed its test.
func TestAVerdictWhoseStatusWasLostClearsAnEarlierFailure(t *testing.T) {
	w := attempttest.NewWorld(t)
	attempttest.Drilling(w, proof.RestoreTestResult{Compared: true}, nil)
	failed := func(s *state.State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: "bucket/dir/snap.db/ns/b/0000000000000001/old.db", Result: v1beta2.DrillFailed, Message: "differs"}
	}
	first := w.Attempt(statetest.Series(statetest.Verifies, failed)) // its status is lost
	if first.Failure != nil || first.Drill == nil {
		t.Fatalf("%+v", first)
	}
	s := statetest.Series(statetest.Verifies, failed)
	r := w.Attempt(s)
	if r.Failure != nil || !r.Found {
		t.Fatal(errors.New("not found"), r)
	}
	s.Attempt = &state.Attempt{Generation: 1, Number: 1, StartedAt: statetest.T0, Result: &r}
	step, _ := plan.Plan(s)
	status := status.NewStatus(s, step, nil)
	for _, c := range status.Conditions {
		if c.Type == v1beta2.ConditionReady && c.Status != "True" {
			t.Errorf("the newest snapshot has passed its restore test, but Ready is %s: %s", c.Status, c.Message)
		}
	}
}
