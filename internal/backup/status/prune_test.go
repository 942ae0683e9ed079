package status

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestThePruningOfASuspendedSeriesKeepsItReady(t *testing.T) {
	asks := []statetest.Change{statetest.Suspends, statetest.Keep(1), statetest.Proven(2 * time.Hour), statetest.OfKnownCluster}
	kept := []v1beta2.Snapshot{{Path: "bucket/k"}}
	for name, test := range map[string]struct {
		result state.Result
		want   metav1.ConditionStatus
	}{
		"after a successful deletion": {state.Result{Kept: kept, Pruned: 2}, metav1.ConditionTrue},
		"after a failed deletion":     {state.Result{Failure: &state.Failure{Reason: "StoreUnreachable", Message: "No answer."}}, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			s := statetest.Series(asks...)
			s.Status = NewStatus(s, plan.Suspended{}, nil)
			s.Status = NewStatus(s, plan.Prune{}, nil)
			if !meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionRunning) || !s.Status.LastPruneTime.Time.Equal(statetest.T0) {
				t.Errorf("while it runs: %+v", s.Status)
			}
			s.Attempt = &state.Attempt{Kind: state.KindPrune, Generation: 1, Number: 1, StartedAt: statetest.T0, Result: &test.result}
			s.Status = NewStatus(s, plan.Report{}, nil)
			pruned := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionPruned)
			if pruned == nil || pruned.Status != test.want || !meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionReady) {
				t.Errorf("conditions %+v", s.Status.Conditions)
			}
			if meta.IsStatusConditionTrue(s.Status.Conditions, v1beta2.ConditionRunning) || s.Status.Snapshot == nil || s.Status.Attempts != 0 {
				t.Errorf("status %+v", s.Status)
			}
			s.Attempt = nil
			if step := planned(s); step != (plan.Suspended{Prune: statetest.T0.Add(time.Hour)}) {
				t.Errorf("then %+v", step)
			}
		})
	}
}
