package cluster

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A recovery stopped the members that still ran. Then a policy refused the survivor with its flag, and no member served until a person came.
func TestARecoveryStopsNoPodIfTheSurvivorWouldBeRefused(t *testing.T) {
	for name, test := range map[string]struct {
		answer  error
		changes []change
		stopped string
	}{
		"refused, before the others stop":    {apierrors.NewForbidden(pods, "x", errText("no more Pods")), []change{with(1, pod(plan.PodRunning))}, ""},
		"refused, before the survivor stops": {apierrors.NewForbidden(pods, "x", errText("no more Pods")), []change{with(1, gone)}, ""},
		"accepted, the others stop":          {nil, []change{with(1, pod(plan.PodRunning))}, nameOf(1)},
		"accepted, the survivor stops":       {nil, []change{with(1, gone)}, nameOf(0)},
	} {
		t.Run(name, func(t *testing.T) {
			r, v := beside(t, &corev1.Pod{ObjectMeta: controlled("uid-example", nameOf(0), nil)}, &corev1.Pod{ObjectMeta: controlled("uid-example", nameOf(1), nil)})
			v.State = state(append([]change{formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting, forcing(0), with(0, pod(plan.PodRunning))}, test.changes...)...)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					of, is := object.(*corev1.Pod)
					if !is { // the operator asks the API server for its time
						object.SetCreationTimestamp(metav1.NewTime(noon))
						return nil
					}
					if !strings.Contains(strings.Join(of.Spec.Containers[0].Command, " "), "--force-new-cluster") {
						t.Errorf("the dry run is about another Pod than the survivor with its flag: %v", of.Spec.Containers[0].Command)
					}
					return test.answer
				},
			})
			step, err := r.planAndAct(t.Context(), v)
			wait, waits := step.(plan.Wait)
			if err != nil || waits != (test.stopped == "") || waits && (wait.Reason != v1beta2.ReasonPodRefused || !wait.Stalled) {
				t.Fatalf("%T %+v, %v", step, step, err)
			}
			for _, name := range []string{nameOf(0), nameOf(1)} {
				gone := apierrors.IsNotFound(r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &corev1.Pod{}))
				if gone != (name == test.stopped) {
					t.Errorf("Pod %s was stopped: %t", name, gone)
				}
			}
		})
	}
}
