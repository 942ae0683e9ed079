package cluster

import (
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// A refusal lasted all night, and each pass wrote the status: the condition Stalled became False and True again within the pass, so that
// its time changed. Whatever a pass notes, the same pass an hour later writes nothing.
func TestWhatLastsIsWrittenOnce(t *testing.T) {
	denied := policyDenies("PodDisruptionBudget", "example")
	for name, test := range map[string]struct {
		step   steps.Step
		actErr error
		note   func(*Reconciler, *view.View)
	}{
		"a refused object beside a healthy cluster": {step: steps.Done{}, note: func(_ *Reconciler, v *view.View) { v.Skipped = denied }},
		"an object of another owner":                {step: steps.Done{}, note: func(_ *Reconciler, v *view.View) { v.Skipped = view.ErrForeign }},
		"an error that may pass":                    {step: steps.Done{}, note: func(_ *Reconciler, v *view.View) { v.Skipped = errors.New("timeout") }},
		"a refused step":                            {step: steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: "refused", Stalled: true}},
		"a failing step":                            {step: steps.AddLearner{Name: plantest.NameOf(3)}, actErr: errors.New("timeout")},
		"a step that has failed for long":           {step: steps.AddLearner{Name: plantest.NameOf(3)}, actErr: errors.New("timeout"), note: failingForLong},
		"a failure for long beside a healthy cluster": {step: steps.Done{}, note: func(r *Reconciler, v *view.View) {
			failingForLong(r, v)
			v.Skipped = errors.New("timeout")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, object := recorded(t, clustertest.State(plantest.Formed, plantest.Members(3)), v1beta2.EtcdClusterStatus{})
			r.Events, r.Now = events.NewFakeRecorder(99), time.Now
			pass := func(at time.Duration) bool {
				v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3)), Cluster: &v1beta2.EtcdCluster{}, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(object), v.Cluster); err != nil {
					t.Fatal(err)
				}
				if test.note != nil {
					test.note(r, v)
				}
				v.Now = v.Now.Add(at)
				changed, err := r.report(t.Context(), v, test.step, test.actErr)
				if err != nil {
					t.Fatal(err)
				}
				return changed
			}
			if !pass(0) {
				t.Error("nothing is reported")
			}
			if pass(time.Hour) {
				t.Error("the same pass wrote the status a second time")
			}
		})
	}
}

func failingForLong(r *Reconciler, v *view.View) {
	r.memory.OfView(v).failing.since = v.Now.Add(-time.Hour)
}
