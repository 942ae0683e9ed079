package pods

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

func TestANodeThatDoesNotAnswerIsRecognised(t *testing.T) {
	for name, test := range map[string]struct {
		phase             corev1.PodPhase
		ready, containers corev1.ConditionStatus
		etcd              bool
		want              bool
		reason            string
	}{
		"the member serves":                                               {corev1.PodRunning, corev1.ConditionTrue, corev1.ConditionTrue, true, false, ""},
		"the kubelet reports that the Pod is not ready":                   {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionFalse, false, false, ""},
		"Kubernetes sets the Pod to not ready because the node is silent": {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionTrue, true, true, ""},
		"a readiness gate is not True":                                    {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionTrue, true, false, "ReadinessGatesNotReady"},
		"the Pod had ended before the node broke":                         {corev1.PodFailed, corev1.ConditionFalse, corev1.ConditionTrue, true, false, ""},
		"the kubelet reports that etcd has ended":                         {corev1.PodRunning, corev1.ConditionFalse, corev1.ConditionTrue, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var m state.Member
			ObservePod(&m, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: corev1.PodStatus{Phase: test.phase, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: test.ready, Reason: test.reason}, {Type: corev1.ContainersReady, Status: test.containers},
			}, ContainerStatuses: []corev1.ContainerStatus{{Name: lifecycle.EtcdContainer, Ready: test.etcd}}}}, clustertest.State().Now)
			if m.NodeSilent != test.want {
				t.Errorf("the node is silent: %v, want %v", m.NodeSilent, test.want)
			}
		})
	}
}
