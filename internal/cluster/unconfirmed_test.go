package cluster

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
			var m plan.Member
			observePod(&m, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: corev1.PodStatus{Phase: test.phase, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: test.ready, Reason: test.reason}, {Type: corev1.ContainersReady, Status: test.containers},
			}, ContainerStatuses: []corev1.ContainerStatus{{Name: plan.EtcdContainer, Ready: test.etcd}}}}, state().Now)
			if m.NodeSilent != test.want {
				t.Errorf("the node is silent: %v, want %v", m.NodeSilent, test.want)
			}
		})
	}
}

// A webhook added the readiness gate of a load balancer. One slow read made the operator replace a member that served.
func TestAMemberWithAClosedReadinessGateIsReplacedOnlyIfItDoesNotServe(t *testing.T) {
	gate := "corresponding condition of pod readiness gate \"lb\" does not exist."
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: nameOf(1)}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", Message: gate, LastTransitionTime: metav1.NewTime(state().Now.Add(-time.Hour))},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}}}
	for _, test := range []struct {
		name   string
		silent time.Duration
		want   plan.Step
	}{
		{"the member serves", -1, plan.Wait{}}, {"one read failed", 0, plan.Wait{}}, {"no read succeeds", 6 * time.Minute, plan.RemoveMember{}},
	} {
		s := state(formed, members(3))
		s.Members[1].Serving = test.silent < 0
		m := s.Members[1]
		observePod(&m, pod, s.Now)
		s.Members[1].PodReady, s.Members[1].UnreadySince, s.Members[1].Gate, s.Members[1].GateSince = m.PodReady, m.UnreadySince, m.Gate, m.GateSince
		var q silence
		q.saw(client.ObjectKey{}, s.Members, s.Now.Add(-max(test.silent, 0)))
		q.saw(client.ObjectKey{}, s.Members, s.Now)
		step := plan.Plan(s)
		if reflect.TypeOf(step) != reflect.TypeOf(test.want) {
			t.Errorf("%s: the plan is %+v", test.name, step)
		}
		if wait, is := step.(plan.Wait); is && test.silent < 0 && (!strings.Contains(wait.Message, "readiness gate \"lb\"") || !wait.Stalled) {
			t.Errorf("%s: the plan is %+v, want the gate to be named", test.name, wait)
		}
	}
}
