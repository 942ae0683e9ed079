package backup

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

func TestASuspendedSeriesIsPrunedWithoutItsCluster(t *testing.T) {
	w := newWorld(t)
	var newest *v1beta2.Snapshot
	for hour := range 3 {
		w.now = at(t0.Add(time.Duration(hour) * time.Hour))
		newest = w.attempt(series()).Snapshot
	}
	w.probe = func(context.Context, []string, ask.Access) []ask.Answer { t.Error("a member was asked"); return nil }
	w.now = at(t0.Add(24 * time.Hour))
	o := jobSpecOf(series(suspends, keep(2), func(s *State) { s.Status.Snapshot = newest }))
	o.Kind = KindPrune
	r := w.job.attempt(t.Context(), o, &jobProgress{})
	if r.Failure != nil || r.Pruned != 1 || len(r.Kept) != 2 || r.Kept[0].Path != newest.Path || !w.has(newest) {
		t.Errorf("%+v, left %q", r, w.keys())
	}
}

func TestThePruningOfASuspendedSeriesKeepsItReady(t *testing.T) {
	asks := []change{suspends, keep(1), proven(2 * time.Hour), ofKnownCluster}
	kept := []v1beta2.Snapshot{{Path: "bucket/k"}}
	for name, test := range map[string]struct {
		result Result
		want   metav1.ConditionStatus
	}{
		"after a successful deletion": {Result{Kept: kept, Pruned: 2}, metav1.ConditionTrue},
		"after a failed deletion":     {Result{Failure: &Failure{"StoreUnreachable", "No answer."}}, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			s := series(asks...)
			s.Status = NewStatus(s, Suspended{}, nil)
			s.Status = NewStatus(s, Prune{}, nil)
			if !meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionRunning) || !s.Status.LastPruneTime.Time.Equal(t0) {
				t.Errorf("while it runs: %+v", s.Status)
			}
			s.Attempt = &Attempt{Kind: KindPrune, Generation: 1, Number: 1, StartedAt: t0, Result: &test.result}
			s.Status = NewStatus(s, Report{}, nil)
			pruned := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionPruned)
			if pruned == nil || pruned.Status != test.want || !meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionReady) {
				t.Errorf("conditions %+v", s.Status.Conditions)
			}
			if meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionRunning) || s.Status.Snapshot == nil || s.Status.Attempts != 0 {
				t.Errorf("status %+v", s.Status)
			}
			s.Attempt = nil
			if step := next(s); step != (Suspended{Prune: t0.Add(time.Hour)}) {
				t.Errorf("then %+v", step)
			}
		})
	}
}

func TestADeletedSeriesIsKeptUntilItsFinalSnapshotIsTaken(t *testing.T) {
	for name, fails := range map[string]bool{"is released after the final snapshot": false, "is released after ten minutes without a final snapshot": true} {
		bubble(t, name, func(t *testing.T) {
			b := object(series(proven(time.Minute), func(s *State) { s.Spec.FinalSnapshot = true }))
			b.Finalizers = []string{v1beta2.FinalizerSnapshots}
			r := newRig(t, b)
			var asked []string
			r.attempt = func(_ context.Context, o jobSpec, _ *jobProgress) Result {
				asked = append(asked, o.Request)
				if fails {
					return Result{EndedAt: time.Now(), Failure: &Failure{"StoreUnreachable", "No answer."}}
				}
				return Result{EndedAt: time.Now(), Snapshot: snapshotAt("bucket/dir/snap.db/ns/b/0000000000000001/y.db", time.Now())}
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
			took := time.Since(deleted)
			if !gone || fails != (took > 9*time.Minute) || took > 12*time.Minute || fails != (len(asked) > 1) || !strings.HasPrefix(asked[0], "final ") {
				t.Errorf("released: %v after %s, attempts %q", gone, took, asked)
			}
			var events []string
			for len(r.events.Events) > 0 {
				events = append(events, <-r.events.Events)
			}
			if all := strings.Join(events, "\n"); strings.Contains(all, "FinalSnapshotMissed") != fails {
				t.Errorf("events:\n%s", all)
			}
		})
	}
}
