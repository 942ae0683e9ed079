package act

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

func TestAFencedMemberIsOutOfTheClientService(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	s.Asked = state.NewAsked(map[string]string{v1beta2.AnnotationFence: s.Members[1].Name})
	pod := pods.NewPod(s, steps.CreateMember{Name: s.Members[1].Name, Incarnation: 1, Start: state.StartRejoin}, "")
	if _, selected := pod.Labels[pods.LabelVoter]; selected {
		t.Error("the new Pod of a fenced member has the label that the client Service selects")
	}
	running := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", s.Members[1].Name, map[string]string{pods.LabelVoter: "true"})}
	a, v := actorBeside(t, running)
	if err := a.Act(t.Context(), v, steps.RemoveFromService{Name: running.Name}); err != nil {
		t.Fatal(err)
	}
	var after corev1.Pod
	if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(running), &after); err != nil || after.Labels[pods.LabelVoter] != "" {
		t.Errorf("labels are %v, %v", after.Labels, err)
	}
}
