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
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A recovery stopped the members that still ran. Then a policy refused the survivor with its flag, and no member served until a person came.
func TestARecoveryStopsNoPodIfTheSurvivorWouldBeRefused(t *testing.T) {
	for name, test := range map[string]struct {
		answer  error
		changes []plantest.Change
		stopped string
	}{
		"refused, before the others stop":    {apierrors.NewForbidden(clustertest.PodResource, "x", clustertest.ErrText("no more Pods")), []plantest.Change{plantest.With(1, plantest.Pod(state.PodRunning))}, ""},
		"refused, before the survivor stops": {apierrors.NewForbidden(clustertest.PodResource, "x", clustertest.ErrText("no more Pods")), []plantest.Change{plantest.With(1, plantest.Gone)}, ""},
		"accepted, the others stop":          {nil, []plantest.Change{plantest.With(1, plantest.Pod(state.PodRunning))}, plantest.NameOf(1)},
		"accepted, the survivor stops":       {nil, []plantest.Change{plantest.With(1, plantest.Gone)}, plantest.NameOf(0)},
	} {
		t.Run(name, func(t *testing.T) {
			r, v := beside(t, &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(0), nil)}, &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil)})
			v.State = clustertest.State(append([]plantest.Change{plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), clustertest.Consenting, clustertest.Forcing(0), plantest.With(0, plantest.Pod(state.PodRunning))}, test.changes...)...)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					of, is := object.(*corev1.Pod)
					if !is { // the operator asks the API server for its time
						object.SetCreationTimestamp(metav1.NewTime(plantest.Noon))
						return nil
					}
					if !strings.Contains(strings.Join(of.Spec.Containers[0].Command, " "), "--force-new-cluster") {
						t.Errorf("the dry run is about another Pod than the survivor with its flag: %v", of.Spec.Containers[0].Command)
					}
					return test.answer
				},
			})
			step, err := r.planAndAct(t.Context(), v)
			wait, waits := step.(steps.Wait)
			if err != nil || waits != (test.stopped == "") || waits && (wait.Reason != v1beta2.ReasonPodRefused || !wait.Stalled) {
				t.Fatalf("%T %+v, %v", step, step, err)
			}
			for _, name := range []string{plantest.NameOf(0), plantest.NameOf(1)} {
				gone := apierrors.IsNotFound(r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &corev1.Pod{}))
				if gone != (name == test.stopped) {
					t.Errorf("Pod %s was stopped: %t", name, gone)
				}
			}
		})
	}
}
