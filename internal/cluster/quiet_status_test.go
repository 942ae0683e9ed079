package cluster

import (
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A refusal lasted all night, and each pass wrote the status: the condition Stalled became False and True again within the pass, so that
// its time changed. Whatever a pass notes, the same pass an hour later writes nothing.
func TestWhatLastsIsWrittenOnce(t *testing.T) {
	denied := policyDenies("PodDisruptionBudget", "example")
	for name, test := range map[string]struct {
		step   plan.Step
		actErr error
		note   func(*view)
	}{
		"a refused object beside a healthy cluster": {step: plan.Done{}, note: func(v *view) { v.skipped = denied }},
		"an object of another owner":                {step: plan.Done{}, note: func(v *view) { v.skipped = errForeign }},
		"an error that may pass":                    {step: plan.Done{}, note: func(v *view) { v.skipped = errors.New("timeout") }},
		"a refused step":                            {step: plan.Wait{Reason: v1beta2.ReasonObjectRefused, Message: "refused", Stalled: true}},
		"a failing step":                            {step: plan.AddLearner{Name: nameOf(3)}, actErr: errors.New("timeout")},
		"a step that has failed for long":           {step: plan.AddLearner{Name: nameOf(3)}, actErr: errors.New("timeout"), note: failingForLong},
		"a failure for long beside a healthy cluster": {step: plan.Done{}, note: func(v *view) {
			failingForLong(v)
			v.skipped = errors.New("timeout")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, object := recorded(t, state(formed, members(3)), v1beta2.EtcdClusterStatus{})
			r.Events, r.Now = events.NewFakeRecorder(99), time.Now
			pass := func(at time.Duration) bool {
				v := &view{State: state(formed, members(3)), cluster: &v1beta2.EtcdCluster{}, known: &remembered{}}
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(object), v.cluster); err != nil {
					t.Fatal(err)
				}
				if test.note != nil {
					test.note(v)
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

func failingForLong(v *view) { v.known.failing.since = v.Now.Add(-time.Hour) }
