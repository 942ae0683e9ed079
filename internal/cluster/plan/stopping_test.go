package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// hasStopped: the kubelet has confirmed that nothing of its Pod runs any more, and the object is still there.
func hasStopped(m *state.Member) {
	pod(state.PodDeleting)(m)
	m.Stopped = true
}

// The kubelet deletes the object only after it has unmounted the volumes, and the next Pod has the same name.
func TestAMemberThatHasStoppedIsStartedWithoutWaitingForItsKubelet(t *testing.T) {
	waits := steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " is stopping."}
	deletes := steps.ForceDeletePod{Name: nameOf(1), Stopped: true}
	planTests{
		"deletes the object of a Pod that has stopped":                        {stateWith(formed, members(3), with(1, hasStopped)), deletes},
		"deletes the object of a Pod that has stopped, even without a quorum": {stateWith(formed, members(3), noQuorum, with(1, hasStopped)), deletes},
		"waits while the containers of the Pod may run":                       {stateWith(formed, members(3), with(1, pod(state.PodDeleting))), waits},
		"waits if a finalizer keeps the object":                               {stateWith(formed, members(3), with(1, hasStopped, func(m *state.Member) { m.Held = true })), waits},
		"keeps the object while the volume is deleted with the Pod":           {stateWith(formed, members(3), with(1, hasStopped, volume(state.VolumeDeleting))), waits},
	}.run(t)
}

// A finalizer of a controller keeps the object of a Pod that has stopped. The advice was to delete it with --force, which removes no
// finalizer. The operator deleted the Pod of a removed member again in each pass, so no later rule was asked.
func TestAFinalizerOnAPodIsNamedAndHoldsUpOnlyWhatNeedsThePod(t *testing.T) {
	kept := func(m *state.Member) {
		m.Pod, m.Serving, m.Answers, m.PodReady = state.PodDeleting, false, false, false
		m.Stopped, m.Held, m.Terminated, m.GoneBy, m.Finalizers = true, true, true, noon.Add(-time.Hour), "example.com/audit"
	}
	removed := func(m *state.Member) {
		kept(m)
		m.Incarnation, m.InMembership, m.Volume, m.ID = 1, false, state.VolumePresent, 0
	}
	lost := func(s *state.State) {
		s.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: "ForceNewCluster"}
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)}}
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
		"of a member":         stateWith(formed, members(3), with(2, kept)),
		"of a removed member": stateWith(formed, members(3), with(3, removed)),
	} {
		wait, is := Plan(s).(steps.Wait)
		if !is || !wait.Stalled || strings.Contains(wait.Message, "--force") || !strings.Contains(wait.Message, "example.com/audit") {
			t.Errorf("%s: %+v", what, Plan(s))
		}
	}
	s := stateWith(formed, members(3), full, database(100, 95), onNoSpace(v1beta2.NoSpaceWait, 0), with(3, removed))
	if wait, is := Plan(s).(steps.Wait); !is || wait.Reason != v1beta2.ReasonNoSpace {
		t.Errorf("etcd refuses writes: %+v", Plan(s))
	}
	if step, waits := Plan(stateWith(formed, members(3), noQuorum, lost)).(steps.Wait); waits {
		t.Errorf("a recovery waits for a Pod that cannot run again: %s", step.Message)
	}
}
