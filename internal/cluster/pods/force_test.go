package pods

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A tool removed the annotations of the survivor's Pod. The operator treated the Pod as one without the flag, let the client Service
// select it, and added members. When etcd restarted in place, it removed them, and they continued as another cluster.
func TestAPodWithTheFlagIsSeenWithoutItsAnnotations(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), clustertest.Consenting, clustertest.Forcing(0))
	for name, start := range map[string]state.Start{"the Pod has the flag": state.StartForce, "the Pod does not have the flag": state.StartRejoin} {
		pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: start}, "")
		pod.OwnerReferences = clustertest.Controlled("uid-example", pod.Name, nil).OwnerReferences
		pod.Annotations = nil
		var m state.Member
		ObservePod(&m, pod, plantest.Noon)
		if flagged := start == state.StartForce; (m.Start == state.StartForce) != flagged {
			t.Errorf("%s: the Pod is seen to start with %q", name, m.Start)
		}
		if Unlabelled(s, pod) {
			t.Errorf("%s: a Service is to select the Pod with %v", name, WantedLabels(s, pod))
		}
	}
}
