package backup

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

func TestASuspendedSeriesKeepsItsHistoryIfTheClockIsAhead(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) { s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"} })
	present := time.Now()
	var newest *v1beta2.Snapshot
	for _, now := range []time.Time{present.Add(-4 * time.Hour), present.Add(-3 * time.Hour), present.Add(-2 * time.Hour)} {
		w.now = func() time.Time { return now }
		newest = w.attempt(s).Snapshot
	}
	before := len(w.keys())
	w.now = func() time.Time { return present.Add(240 * time.Hour) }
	s.Spec.BackupPolicy.Suspend = true
	s.Status.Snapshot = newest
	o := jobSpecOf(s)
	o.Kind = KindPrune
	r := w.job.attempt(t.Context(), o, &jobProgress{})
	if r.Pruned != 0 || len(w.keys()) != before {
		t.Errorf("deleted %d snapshots; %d objects were there, and %q are left", r.Pruned, before, w.keys())
	}
}

func TestASuspendedSeriesOfAnEarlierClusterIDIsKept(t *testing.T) {
	s := series(suspends, keep(1), proven(2*time.Hour), of(available()), func(s *State) {
		s.Status.Snapshot.ClusterID = "00000000000000aa" // the cluster was restored since
	})
	if step := next(s); step == (Prune{}) {
		t.Errorf("prunes the snapshots of cluster ID aa, the present one is %s", s.Cluster.ID)
	}
	gone := series(suspends, keep(1), proven(2*time.Hour), of(nil), func(s *State) { s.Status.Snapshot.ClusterID = "00000000000000aa" })
	if step := next(gone); step == (Prune{}) {
		t.Errorf("prunes the snapshots of a cluster that does not exist")
	}
}

func TestAFinalSnapshotThatIsQueuedDelaysTheDeletionTenMinutes(t *testing.T) {
	s := series(finally(time.Minute))
	s.Attempt = &Attempt{Request: s.Request, Generation: 1, Number: 1, StartedAt: t0, Queued: true}
	step := next(s)
	if d := step.describe(s); d.Requeue > finalLimit {
		t.Errorf("%T is looked at again after %s", step, d.Requeue)
	}
}

func TestAFinalSnapshotThatFailedDelaysTheDeletionTenMinutes(t *testing.T) {
	s := series(finally(time.Minute), failedTries(4, 8*time.Minute), func(s *State) {
		s.DeletedAt = t0.Add(-7 * time.Minute)
		s.Request = finalRequest(s.DeletedAt)
		s.Spec.Verify = v1beta2.VerifyRestore
	})
	step := next(s)
	if d := step.describe(s); d.Requeue > 3*time.Minute {
		t.Errorf("%T is looked at again after %s, 3m are left", step, d.Requeue)
	}
}

func TestAFinalSnapshotOfAnInvalidSpecIsReportedAsMissed(t *testing.T) {
	s := series(finally(time.Minute), func(s *State) { s.Spec.StorageType = "OSS" })
	s.Request = finalRequest(s.DeletedAt)
	step := next(s)
	if d := step.describe(s); len(d.Events) == 0 {
		t.Errorf("problem %v: %#v without an event", s.Problem, step)
	}
}

func TestAFinalSnapshotIsOfThePresentSpec(t *testing.T) {
	s := series(finally(time.Minute), edited)
	s.Status.ObservedGeneration = 2
	s.Attempt = &Attempt{Request: s.Request, Generation: 1, Number: 1, StartedAt: t0}
	if step := next(s); step == (Watch{}) {
		t.Errorf("the attempt of the old spec continues and counts as final")
	}
}

type inFlight struct {
	objstore.Store
	key     string
	started time.Time
	aborted *[]string
}

func (u inFlight) Uploads(context.Context, string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		yield(objstore.Upload{Key: u.key, ID: "1", Started: u.started}, nil)
	}
}
func (u inFlight) Abort(_ context.Context, x objstore.Upload) error {
	*u.aborted = append(*u.aborted, x.Key)
	return nil
}

func TestAPurgeTouchesNoUploadOfOthers(t *testing.T) {
	purges := func(w *world, s State) Result {
		o := jobSpecOf(s)
		o.Kind = KindPurge
		return w.job.attempt(t.Context(), o, &jobProgress{})
	}
	uploaded := seriesFolder + "20260102T110000Z-00000000000000000009.db"
	t.Run("of an EtcdBackup of the same name in another Kubernetes", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series())
		w.now = at(t0.Add(time.Hour))
		w.attempt(series(func(s *State) { s.UID = "other" }))
		if err := w.store.Put(t.Context(), uploaded, strings.NewReader("no manifest yet")); err != nil {
			t.Fatal(err)
		}
		w.now = at(time.Now().Add(6 * time.Minute))
		var aborted []string
		w.store = inFlight{w.store, seriesFolder + "20260102T120000Z-00000000000000000009.db", time.Now(), &aborted}
		r := purges(w, series())
		if !slices.Contains(w.keys(), uploaded) || len(aborted) > 0 {
			t.Errorf("the other's object exists: %v, aborted %q, result %+v", slices.Contains(w.keys(), uploaded), aborted, r)
		}
	})
}

func TestSnapshotsWhoseManifestsAPersonDeletedAreKept(t *testing.T) {
	for name, test := range map[string]struct{ objects, left int }{"what killed operators left is deleted": {3, 0}, "more are kept and reported": {4, 4}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			of := snapshot.Series{Folder: "dir/snap.db", Namespace: "ns", Cluster: "b", ClusterID: 1}
			for hour := range test.objects {
				if err := w.store.Put(t.Context(), of.Key(t0.Add(time.Duration(hour)*time.Hour), 1), strings.NewReader("data")); err != nil {
					t.Fatal(err)
				}
			}
			err := sweep(t.Context(), w.store, of, time.Now().Add(time.Hour))
			if got := len(w.keys()); got != test.left || (err != nil) != (got > 0) || err != nil && !strings.Contains(err.Error(), "4 objects have no manifest") {
				t.Errorf("%d objects are left: %v", got, err)
			}
		})
	}
}
