package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A new member whose Pod has scheduling gates makes way, if a voter is lost that must be replaced.
func TestALearnerWithSchedulingGatesKeepsNoDeadVoterFromBeingReplaced(t *testing.T) {
	gates := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(plantest.Noon.Add(-time.Hour))}}
	gates.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "gates"}}
	gated := plantest.With(3, func(m *state.Member) {
		m.Node, m.Unanswered, m.PodImage = "", "", (&v1beta2.EtcdClusterSpec{}).Image()
		m.Pod, m.PodReason, m.PodMessage = lifecycle.PodStateOf(gates, plantest.Noon)
	})
	dead := plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(time.Hour))
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.StuckLearner(time.Hour), gated, dead)
	if remove, is := plan.Plan(s).(steps.RemoveMember); !is || remove.Name != plantest.NameOf(3) || remove.Cause != state.MakesWay {
		t.Errorf("%#v", plan.Plan(s))
	}
}
