package repair_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// hasStopped: the kubelet has confirmed that nothing of its Pod runs any more, and the object is still there.
func hasStopped(m *state.Member) {
	plantest.Pod(state.PodDeleting)(m)
	m.Stopped = true
}

// The kubelet deletes the object only after it has unmounted the volumes, and the next Pod has the same name.
func TestAMemberThatHasStoppedIsStartedWithoutWaitingForItsKubelet(t *testing.T) {
	waits := steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " is stopping."}
	deletes := steps.ForceDeletePod{Name: plantest.NameOf(1), Stopped: true}
	plantest.Plans{
		"deletes the object of a Pod that has stopped":                        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, hasStopped)), deletes},
		"deletes the object of a Pod that has stopped, even without a quorum": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, hasStopped)), deletes},
		"waits while the containers of the Pod may run":                       {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodDeleting))), waits},
		"waits if a finalizer keeps the object":                               {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, hasStopped, func(m *state.Member) { m.Held = true })), waits},
		"keeps the object while the volume is deleted with the Pod":           {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, hasStopped, plantest.Volume(state.VolumeDeleting))), waits},
	}.Run(t, plan.Plan)
}

// A finalizer of a controller keeps the object of a Pod that has stopped. The advice was to delete it with --force, which removes no
// finalizer. The operator deleted the Pod of a removed member again in each pass, so no later rule was asked.
func TestAFinalizerOnAPodIsNamedAndHoldsUpOnlyWhatNeedsThePod(t *testing.T) {
	kept := func(m *state.Member) {
		m.Pod, m.Serving, m.Answers, m.PodReady = state.PodDeleting, false, false, false
		m.Stopped, m.Held, m.Terminated, m.GoneBy, m.Finalizers = true, true, true, plantest.Noon.Add(-time.Hour), "example.com/audit"
	}
	removed := func(m *state.Member) {
		kept(m)
		m.Incarnation, m.InMembership, m.Volume, m.ID = 1, false, state.VolumePresent, 0
	}
	lost := func(s *state.State) {
		s.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: "ForceNewCluster"}
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), Voters: []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}}
		for i := range s.Members {
			m := &s.Members[i]
			m.Pod, m.Serving, m.Answers, m.PodReady, m.InMembership = state.PodNone, false, false, false, false
			if i > 0 {
				m.Volume = state.VolumeNone
			}
		}
		kept(&s.Members[1])
	}
	for what, s := range map[string]state.State{
		"of a member":         plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, kept)),
		"of a removed member": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, removed)),
	} {
		wait, is := plan.Plan(s).(steps.Wait)
		if !is || !wait.Stalled || strings.Contains(wait.Message, "--force") || !strings.Contains(wait.Message, "example.com/audit") {
			t.Errorf("%s: %+v", what, plan.Plan(s))
		}
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Full, plantest.Database(100, 95), plantest.OnNoSpace(v1beta2.NoSpaceWait, 0), plantest.With(3, removed))
	if wait, is := plan.Plan(s).(steps.Wait); !is || wait.Reason != v1beta2.ReasonNoSpace {
		t.Errorf("etcd refuses writes: %+v", plan.Plan(s))
	}
	if step, waits := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, lost)).(steps.Wait); waits {
		t.Errorf("a recovery waits for a Pod that cannot run again: %s", step.Message)
	}
}
