package attempt_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestASuspendedSeriesKeepsItsHistoryIfTheClockIsAhead(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) { s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"} })
	present := time.Now()
	var newest *v1beta2.Snapshot
	for _, now := range []time.Time{present.Add(-4 * time.Hour), present.Add(-3 * time.Hour), present.Add(-2 * time.Hour)} {
		w.Now = func() time.Time { return now }
		newest = w.Attempt(s).Snapshot
	}
	before := len(w.Keys())
	w.Now = func() time.Time { return present.Add(240 * time.Hour) }
	s.Spec.BackupPolicy.Suspend = true
	s.Status.Snapshot = newest
	o := state.JobSpecOf(s)
	o.Kind = state.KindPrune
	r := w.Run(t.Context(), o, &queue.Progress{})
	if r.Failure != nil || r.Pruned != 0 || len(w.Keys()) != before || !strings.Contains(r.PruneProblem, "ahead of the clock of the store") {
		t.Errorf("%+v; %d objects before, left %q", r, before, w.Keys())
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
				object.ModTime = object.ModTime.Add(-2 * attempt.LeftoverAge)
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
	w := attempttest.NewWorld(t)
	var newest *v1beta2.Snapshot
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		newest = w.Attempt(statetest.Series()).Snapshot
	}
	before := w.Keys()
	w.Store = untimed{Store: w.Store}
	o := state.JobSpecOf(statetest.Series(statetest.Suspends, statetest.Keep(1), func(s *state.State) { s.Status.Snapshot = newest }))
	o.Kind = state.KindPrune
	if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure == nil || !slices.Equal(before, w.Keys()) {
		t.Errorf("%+v, left %q", r, w.Keys())
	}
}

// An object that is not the one of its draft is no snapshot that this EtcdBackup has written. It is reported after a day by the clock of the store, and
// kept.
func TestALeftoverThatDoesNotMatchItsDraftIsReportedAfterADay(t *testing.T) {
	w := attempttest.NewWorld(t)
	present := time.Now()
	w.Now = func() time.Time { return present.Add(-time.Hour) }
	w.Attempt(statetest.Series())
	left, young := seriesFolder+"20260102T110000Z-00000000000000000009.db", seriesFolder+"20260102T120000Z-00000000000000000009.db"
	w.Leaves(young, "u")
	w.Store = aged{Store: w.Store, keys: []string{left, w.Leaves(left, "u")}}
	w.Now = func() time.Time { return present.Add(30 * time.Hour) } // the clock is wrong
	r := w.Attempt(statetest.Series())
	if keys := w.Keys(); !strings.Contains(r.PruneProblem, left) || strings.Contains(r.PruneProblem, young) || !slices.Contains(keys, left) || !slices.Contains(keys, young) {
		t.Errorf("%+v, left %q", r, keys)
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
	purges := func(w *attempttest.World, s state.State) state.Result {
		o := state.JobSpecOf(s)
		o.Kind = state.KindPurge
		return w.Run(t.Context(), o, &queue.Progress{})
	}
	uploaded := seriesFolder + "20260102T110000Z-00000000000000000009.db"
	t.Run("keeps uploads of an EtcdBackup of the same name in another Kubernetes", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series())
		w.Now = statetest.At(statetest.T0.Add(time.Hour))
		w.Attempt(statetest.Series(func(s *state.State) { s.UID = "other" }))
		if err := w.Store.Put(t.Context(), uploaded, strings.NewReader("no manifest yet")); err != nil {
			t.Fatal(err)
		}
		w.Now = statetest.At(time.Now().Add(6 * time.Minute))
		var aborted []string
		w.Store = inFlight{Store: w.Store, key: seriesFolder + "20260102T120000Z-00000000000000000009.db", started: time.Now(), aborted: &aborted}
		r := purges(w, statetest.Series())
		if !slices.Contains(w.Keys(), uploaded) || len(aborted) > 0 {
			t.Errorf("the other's object exists: %v, aborted %q, result %+v", slices.Contains(w.Keys(), uploaded), aborted, r)
		}
	})
	t.Run("keeps uploads of another EtcdBackup that has no snapshot yet", func(t *testing.T) {
		w := attempttest.NewWorld(t)
		w.Attempt(statetest.Series())
		var aborted []string
		w.Now = statetest.At(time.Now().Add(6 * time.Minute))
		w.Store = inFlight{Store: w.Store, key: seriesFolder + "20260102T120000Z-00000000000000000009.db", started: time.Now(), aborted: &aborted}
		r := purges(w, statetest.Series())
		if len(aborted) > 0 {
			t.Errorf("aborted %q, %+v", aborted, r)
		}
	})
}

func TestSnapshotsWhoseManifestsAPersonDeletedAreKept(t *testing.T) {
	w := attempttest.NewWorld(t)
	present := time.Now()
	var all []*v1beta2.Snapshot
	for hour := range 4 {
		now := present.Add(time.Duration(hour-30) * time.Hour)
		w.Now = func() time.Time { return now }
		all = append(all, w.Attempt(statetest.Series()).Snapshot) // no retention: all are kept
	}
	for _, key := range w.Keys() {
		if strings.HasSuffix(key, ".json") {
			if err := w.Store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Store = aged{Store: w.Store, keys: w.Keys()}
	w.Now = func() time.Time { return present }
	r := w.Attempt(statetest.Series())
	if r.PruneReason != v1beta2.ReasonSnapshotsKept || !strings.Contains(r.PruneProblem, "without a manifest: 4") {
		t.Errorf("%s: %s", r.PruneReason, r.PruneProblem)
	}
	gone := 0
	for _, s := range all {
		if !slices.Contains(w.Keys(), strings.TrimPrefix(s.Path, "bucket/")) {
			gone++
		}
	}
	if gone > 0 {
		t.Errorf("%d of 4 snapshots are deleted, without any retention in the spec; left %q", gone, w.Keys())
	}
}
