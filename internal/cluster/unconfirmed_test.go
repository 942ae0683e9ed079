package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A restore does not wait for old members on nodes that do not answer, because clients cannot reach them.
func TestTheClientServiceOfARestoredClusterSelectsNoOldMember(t *testing.T) {
	s := state(formed, members(3), restored("Growing"))
	clients := labels.SelectorFromSet(clientService(s, plan.ApplyServices{Incarnation: 2, ClusterID: oldID}).Spec.Selector)
	old := newPod(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartRejoin}, "")
	if clients.Matches(labels.Set(old.Labels)) {
		t.Errorf("the Service selects an old member with %v", old.Labels)
	}
	restored := newPod(s, plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartRejoin}, "")
	if !clients.Matches(labels.Set(restored.Labels)) {
		t.Errorf("the Service does not select a restored member with %v", restored.Labels)
	}
}

func TestANodeThatDoesNotAnswerIsRecognised(t *testing.T) {
	for name, test := range map[string]struct {
		phase             corev1.PodPhase
		ready, containers corev1.ConditionStatus
		etcd              bool
		want              bool
	}{
		"the member serves":                       {corev1.PodRunning, corev1.ConditionTrue, corev1.ConditionTrue, true, false},
		"the kubelet says that it is not ready":   {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionFalse, false, false},
		"Kubernetes says so in the node's place":  {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionTrue, true, true},
		"the Pod had ended before the node broke": {corev1.PodFailed, corev1.ConditionFalse, corev1.ConditionTrue, true, false},
		"the kubelet says that etcd has ended":    {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionTrue, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m plan.Member
			observePod(&m, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: corev1.PodStatus{Phase: test.phase, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: test.ready}, {Type: corev1.ContainersReady, Status: test.containers},
			}, ContainerStatuses: []corev1.ContainerStatus{{Name: plan.EtcdContainer, Ready: test.etcd}}}}, state().Now)
			if m.NodeSilent != test.want {
				t.Errorf("the node is silent: %v, want %v", m.NodeSilent, test.want)
			}
		})
	}
}
