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
	if r.Failure != nil || r.Pruned != 0 || len(w.keys()) != before || !strings.Contains(r.PruneProblem, "ahead of the clock of the store") {
		t.Errorf("%+v; %d objects before, left %q", r, before, w.keys())
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
		s.DeletedAt, s.DeletingFor = t0.Add(-7*time.Minute), 7*time.Minute
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
	if d := step.describe(s); len(d.Events) == 0 || d.Events[0].Reason != "FinalSnapshotMissed" {
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

// aged shows these objects as written two days ago.
type aged struct {
	objstore.Store
	keys []string
}

func (a aged) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range a.Store.List(ctx, prefix) {
			if slices.Contains(a.keys, object.Key) {
				object.ModTime = object.ModTime.Add(-2 * leftoverAge)
			}
			if !yield(object, err) {
				return
			}
		}
	}
}

// untimed lists no times.
type untimed struct{ objstore.Store }

func (u untimed) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range u.Store.List(ctx, prefix) {
			if !yield(objstore.Object{Key: object.Key, Size: object.Size}, err) {
				return
			}
		}
	}
}

func TestASuspendedSeriesIsKeptIfTheClocksCannotBeCompared(t *testing.T) {
	w := newWorld(t)
	var newest *v1beta2.Snapshot
	for hour := range 3 {
		w.now = at(t0.Add(time.Duration(hour) * time.Hour))
		newest = w.attempt(series()).Snapshot
	}
	before := w.keys()
	w.store = untimed{w.store}
	o := jobSpecOf(series(suspends, keep(1), func(s *State) { s.Status.Snapshot = newest }))
	o.Kind = KindPrune
	if r := w.job.attempt(t.Context(), o, &jobProgress{}); r.Failure == nil || !slices.Equal(before, w.keys()) {
		t.Errorf("%+v, left %q", r, w.keys())
	}
}

// An object that is not the one of its draft is no snapshot that this EtcdBackup has written. It is reported after a day by the clock of the store, and
// kept.
func TestALeftoverThatDoesNotMatchItsDraftIsReportedAfterADay(t *testing.T) {
	w := newWorld(t)
	present := time.Now()
	w.now = func() time.Time { return present.Add(-time.Hour) }
	w.attempt(series())
	left, young := seriesFolder+"20260102T110000Z-00000000000000000009.db", seriesFolder+"20260102T120000Z-00000000000000000009.db"
	w.leaves(young, "u")
	w.store = aged{w.store, []string{left, w.leaves(left, "u")}}
	w.now = func() time.Time { return present.Add(30 * time.Hour) } // the clock is wrong
	r := w.attempt(series())
	if keys := w.keys(); !strings.Contains(r.PruneProblem, left) || strings.Contains(r.PruneProblem, young) || !slices.Contains(keys, left) || !slices.Contains(keys, young) {
		t.Errorf("%+v, left %q", r, keys)
	}
}

func TestAFinalSnapshotIsNotTakenOfAClusterThatWasCreatedLater(t *testing.T) {
	s := series(finally(time.Minute), of(available()), func(s *State) { s.Cluster.CreatedAt = t0 })
	if step, missed := next(s).(Release); !missed || !strings.Contains(step.Missed, "does not exist any more") {
		t.Errorf("%#v", next(s))
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
	t.Run("keeps uploads of an EtcdBackup of the same name in another Kubernetes", func(t *testing.T) {
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
	t.Run("keeps uploads of another EtcdBackup that has no snapshot yet", func(t *testing.T) {
		w := newWorld(t)
		w.attempt(series())
		var aborted []string
		w.now = at(time.Now().Add(6 * time.Minute))
		w.store = inFlight{w.store, seriesFolder + "20260102T120000Z-00000000000000000009.db", time.Now(), &aborted}
		r := purges(w, series())
		if len(aborted) > 0 {
			t.Errorf("aborted %q, %+v", aborted, r)
		}
	})
}

func TestSnapshotsWhoseManifestsAPersonDeletedAreKept(t *testing.T) {
	w := newWorld(t)
	present := time.Now()
	var all []*v1beta2.Snapshot
	for hour := range 4 {
		now := present.Add(time.Duration(hour-30) * time.Hour)
		w.now = func() time.Time { return now }
		all = append(all, w.attempt(series()).Snapshot) // no retention: all are kept
	}
	for _, key := range w.keys() {
		if strings.HasSuffix(key, ".json") {
			if err := w.store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.store = aged{w.store, w.keys()}
	w.now = func() time.Time { return present }
	r := w.attempt(series())
	if r.PruneReason != v1beta2.ReasonSnapshotsKept || !strings.Contains(r.PruneProblem, "without a manifest: 4") {
		t.Errorf("%s: %s", r.PruneReason, r.PruneProblem)
	}
	gone := 0
	for _, s := range all {
		if !slices.Contains(w.keys(), strings.TrimPrefix(s.Path, "bucket/")) {
			gone++
		}
	}
	if gone > 0 {
		t.Errorf("%d of 4 snapshots are deleted, without any retention in the spec; left %q", gone, w.keys())
	}
}
