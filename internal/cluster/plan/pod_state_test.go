package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A new member whose Pod has scheduling gates makes way, if a voter is lost that must be replaced.
func TestALearnerWithSchedulingGatesKeepsNoDeadVoterFromBeingReplaced(t *testing.T) {
	gates := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	gates.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "gates"}}
	gated := with(3, func(m *state.Member) {
		m.Node, m.Unanswered, m.PodImage = "", "", (&v1beta2.EtcdClusterSpec{}).Image()
		m.Pod, m.PodReason, m.PodMessage = lifecycle.PodStateOf(gates, noon)
	})
	dead := with(1, pod(state.PodRunning), unreadyFor(time.Hour))
	s := stateWith(formed, members(3), size(4), stuckLearner(time.Hour), gated, dead)
	if remove, is := Plan(s).(steps.RemoveMember); !is || remove.Name != nameOf(3) || remove.Cause != state.MakesWay {
		t.Errorf("%#v", Plan(s))
	}
}
