package backup

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

const unfinished = seriesFolder + "20260102T110000Z-00000000000000000009.db"

// leaves stores what remains if an operator is killed between an object and its manifest: the object and its draft.
func (w *world) leaves(key, uid string) (draft string) {
	w.t.Helper()
	digits := "0123456789abcdef"
	draft = key + ".draft-" + digits
	m := snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Revision: 9, Keys: 1, Size: 4, SHA256: strings.Repeat(digits, 4), CreatedAt: t0,
		Cluster: snapshot.Cluster{Namespace: "ns", Name: "b", ID: "0000000000000001"}, Attempt: uid + "/0000000000000001",
	}
	content, err := m.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	for name, text := range map[string]string{key: "data", draft: string(content)} {
		if err := w.store.Put(w.t.Context(), name, strings.NewReader(text)); err != nil {
			w.t.Fatal(err)
		}
	}
	return draft
}

func (w *world) purges(s State) Result {
	w.t.Helper()
	o := jobSpecOf(s)
	o.Kind = KindPurge
	return w.job.attempt(w.t.Context(), o, &jobProgress{})
}

// The folder is shared with an operator in another Kubernetes, which has written its first object but not the manifest yet.
func TestAPurgeKeepsObjectsThatMayBeOfAnotherOperator(t *testing.T) {
	for name, leave := range map[string]func(*world){
		"an object without a draft": func(w *world) {
			if err := w.store.Put(w.t.Context(), unfinished, strings.NewReader("data")); err != nil {
				w.t.Fatal(err)
			}
		},
		"an object with the draft of another EtcdBackup": func(w *world) { w.leaves(unfinished, "other") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.attempt(series())
			leave(w)
			w.now = at(time.Now().Add(orphanAge + time.Minute))
			r := w.purges(series())
			if !slices.Contains(w.keys(), unfinished) {
				t.Errorf("it is deleted: %+v", r)
			}
			if r.Failure != nil || r.Pruned != 1 || !strings.Contains(r.PruneProblem, unfinished) {
				t.Errorf("it is not reported, or delays the deletion: %+v", r)
			}
		})
	}
}

func TestAPurgeDeletesWhatItsOwnKilledOperatorLeft(t *testing.T) {
	w := newWorld(t)
	w.attempt(series())
	w.leaves(unfinished, "u")
	w.now = time.Now
	if r := w.purges(series()); r.Failure == nil || r.Failure.Reason != v1beta2.ReasonRemovingSnapshots || len(w.keys()) != 2 {
		t.Errorf("it does not wait until the upload can have ended: %+v, left %q", r, w.keys())
	}
	w.now = at(time.Now().Add(orphanAge + time.Second))
	if r := w.purges(series()); r.Failure != nil || r.PruneProblem != "" || len(w.keys()) != 0 {
		t.Errorf("%+v, left %q", r, w.keys())
	}
}

// A person or a replication has lost the manifests. Even if many manifests are missing, the objects may be snapshots
// and not leftovers.
func TestAnOldSnapshotWithoutItsManifestIsKept(t *testing.T) {
	w := newWorld(t)
	present := time.Now()
	w.now = at(present.Add(-30 * time.Hour))
	old := w.attempt(series())
	key := strings.TrimPrefix(old.Snapshot.Path, "bucket/")
	if err := w.store.Delete(t.Context(), snapshot.ManifestKey(key)); err != nil {
		t.Fatal(err)
	}
	w.store = aged{w.store, w.keys()}
	w.now = at(present)
	r := w.attempt(series())
	if !slices.Contains(w.keys(), key) {
		t.Errorf("a snapshot is deleted, without any retention in the spec; left %q", w.keys())
	}
	if r.PruneReason != v1beta2.ReasonSnapshotsKept || !strings.Contains(r.PruneProblem, key) {
		t.Errorf("%s: %s", r.PruneReason, r.PruneProblem)
	}
}

func TestDraftsThatAreNotNeededAreDeletedAfterADay(t *testing.T) {
	w := newWorld(t)
	present := time.Now()
	w.now = at(present.Add(-30 * time.Hour))
	done := strings.TrimPrefix(w.attempt(series()).Snapshot.Path, "bucket/")
	drafts := []string{w.leaves(unfinished, "u"), w.leaves(unfinished+".zst", "other")}
	for _, key := range []string{unfinished, unfinished + ".zst"} {
		if err := w.store.Delete(t.Context(), key); err != nil { // the upload was never complete
			t.Fatal(err)
		}
	}
	committed := done + ".draft-0123456789abcdef"
	if err := w.store.Put(t.Context(), committed, strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	w.store = aged{w.store, append(drafts, committed)}
	w.now = at(present)
	w.attempt(series())
	if keys := w.keys(); slices.Contains(keys, drafts[0]) || slices.Contains(keys, committed) || !slices.Contains(keys, drafts[1]) || !slices.Contains(keys, done) {
		t.Errorf("left %q", keys)
	}
}

// The node's clock was put forward after the snapshot that the annotation had asked for. The status was lost.
func TestASeriesThatFindsItsSnapshotPrunesByTheClockOfTheStore(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) {
		s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"}
		s.Request = "now"
	})
	present := time.Now()
	for hour := range 2 {
		w.now = at(present.Add(time.Duration(hour-4) * time.Hour))
		before := s
		before.Request = ""
		w.attempt(before)
	}
	w.now = at(present.Add(-2 * time.Hour))
	w.attempt(s)
	before := len(w.keys())
	w.now = at(present.Add(240 * time.Hour))
	r := w.attempt(s)
	if !r.Found || r.Pruned != 0 || len(w.keys()) != before || !strings.Contains(r.PruneProblem, "ahead of the clock of the store") {
		t.Errorf("%+v; %d objects before, left %q", r, before, w.keys())
	}
	w.store = untimed{w.store}
	if r := w.attempt(s); !r.Found || r.Pruned != 0 || r.PruneProblem == "" || len(w.keys()) != before {
		t.Errorf("the clocks cannot be compared: %+v, left %q", r, w.keys())
	}
}

// The clock of the operator is ahead of that of the API server, which has set the time of the deletion.
func TestAFinalSnapshotIsTriedForTenMinutesAlsoIfTheClockIsAhead(t *testing.T) {
	bubble(t, "by 11 minutes", func(t *testing.T) {
		b := object(series(proven(time.Minute), func(s *State) { s.Spec.FinalSnapshot = true }))
		b.Finalizers = []string{v1beta2.FinalizerSnapshots}
		r := newRig(t, b)
		r.now = func() time.Time { return time.Now().Add(finalLimit + time.Minute) }
		tried := 0
		r.attempt = func(context.Context, jobSpec, *jobProgress) Result {
			tried++
			return Result{EndedAt: r.now(), Failure: &Failure{"StoreUnreachable", "No answer."}}
		}
		if err := r.client.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		deleted, gone := time.Now(), false
		for range 60 {
			result := r.pass()
			if err := r.live.Get(t.Context(), request.NamespacedName, &v1beta2.EtcdBackup{}); apierrors.IsNotFound(err) {
				gone = true
				break
			}
			<-time.After(max(result.RequeueAfter, time.Millisecond))
			synctest.Wait()
		}
		if held := time.Since(deleted); !gone || tried < 5 || held < finalLimit-time.Minute || held > finalLimit+time.Minute {
			t.Errorf("released %v after %s and %d attempts", gone, held, tried)
		}
	})
}
