package pods

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// 2 of 5 voters have data. The Pod of 1 waited 59 s for its volume and its image. Its etcd began 1 s ago, its startup probe has passed, and it has
// applied 1821 of its 9008 entries so far (as etcd 3.6.16 did on this machine). Member 0 has 5000.
func TestAnIndexIsComparedOnlyAfterEtcdHasAppliedItsLog(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(5), plantest.NoQuorum, plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone), clustertest.Consenting)
	s.Spec.Size = 5
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: plantest.NameOf(1), CreationTimestamp: metav1.NewTime(plantest.Noon.Add(-time.Minute))}}
	pod.Spec.Containers = []corev1.Container{{Name: lifecycle.EtcdContainer, StartupProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 600}}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(plantest.Noon.Add(-59 * time.Second))}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: lifecycle.EtcdContainer, Started: ptr.To(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plantest.Noon.Add(-time.Second))}},
	}}
	m := &s.Members[1]
	ObservePod(m, pod, plantest.Noon)
	m.PodImage, m.Answers, m.RaftIndex = s.Members[0].PodImage, false, 1821
	plantest.With(0, func(m *state.Member) {
		m.Answers, m.ClusterID, m.RaftIndex, m.RaftTerm, m.UnreadySince = true, 0xaa, 5000, 3, plantest.Noon.Add(-time.Hour)
	})(&s)
	step := plan.Plan(s)
	if begin, is := step.(steps.BeginRecovery); is {
		t.Errorf("%s (state of the Pod of 1: %s, unready since %s, budget %s)", steps.Describe(s, begin).Message, m.Pod, plantest.Noon.Sub(m.UnreadySince), m.StartupBudget)
	}
}
