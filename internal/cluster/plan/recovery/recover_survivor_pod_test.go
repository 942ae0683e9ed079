package recovery_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// the Pod of the survivor without the flag has no node (drained); a person follows the advice and deletes the claim.
func TestASurvivorWhoseClaimIsDeletedIsGivenUp(t *testing.T) {
	for name, how := range map[string]func(*state.Member){
		"unschedulable": plantest.BlockedBy(v1beta2.ReasonPodUnschedulable),
		"starting":      plantest.Pod(state.PodStarting),
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.NoQuorum, plantest.Consenting, plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone), plantest.With(1, plantest.WithoutPod))
		plantest.ForcedAgo(&s, 0, time.Hour)
		how(&s.Members[0])
		s.Members[0].UnreadySince = plantest.Noon.Add(-time.Hour)
		s.Members[0].Volume = state.VolumeNone
		if wait, is := plan.Plan(s).(steps.Wait); is {
			t.Errorf("%s: the claim is deleted, and the recovery waits for ever: %s", name, wait.Message)
		}
	}
}

// the Pod of the survivor cannot run because of spec.pod; a person corrects the spec.
func TestACorrectedSpecStartsTheSurvivor(t *testing.T) {
	for name, ago := range map[string]time.Duration{"with the flag": time.Minute, "without it": time.Hour} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone))
		plantest.ForcedAgo(&s, 0, ago)
		plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)(&s.Members[0])
		s.Members[0].Outdated = true
		if name == "with the flag" {
			s.Members[0].Start = state.StartForce
		}
		if wait, is := plan.Plan(s).(steps.Wait); is {
			t.Errorf("%s: the spec is corrected, and the Pod of before stays: %s", name, wait.Message)
		}
	}
}

// the survivor was forced (alone). Its Pod without the flag took 1 min for its volume and image; etcd began 1 s ago, and has no leader yet.
func TestASurvivorThatStartsIsGivenTimeForItsElection(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting)
	plantest.ForcedAgo(&s, 0, time.Hour)
	plantest.With(0, plantest.Silent, plantest.UnreadyFor(time.Minute), func(m *state.Member) { m.RaftIndex, m.EtcdSince = 50, plantest.Noon.Add(-time.Second) })(&s)
	plantest.With(1, plantest.WithoutPod)(&s)
	plantest.With(2, plantest.WithoutPod)(&s)
	step := plan.Plan(s)
	if c, is := step.(steps.CancelRecovery); is {
		t.Errorf("cancelled after 1 s of etcd: %s", c.Message)
		s.Recovery = plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{Recovery: s.Recovery}, 1).Recovery
		for range 2 {
			next := plan.Plan(s)
			if create, is := next.(steps.CreateMember); is {
				for i := range s.Members {
					if s.Members[i].Name == create.Name {
						plantest.Pod(state.PodStarting)(&s.Members[i])
					}
				}
			}
		}
	}
}

// a survivor that may be alone; an EtcdRestore is made; the claims of the others came back.
func TestNobodyStartsBesideTheSurvivorDuringARestore(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.With(0, plantest.Pod(state.PodStarting)), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod), plantest.Restored(v1beta2.RestoreSeeding))
	plantest.ForcedAgo(&s, 0, time.Hour)
	for range 3 {
		step := plan.Plan(s)
		if create, is := step.(steps.CreateMember); is {
			if create.Name == plantest.NameOf(1) || create.Name == plantest.NameOf(2) {
				t.Errorf("%s starts beside survivor %s, which may be a cluster of its own", create.Name, plantest.NameOf(0))
			}
			for i := range s.Members {
				if s.Members[i].Name == create.Name {
					plantest.Pod(state.PodStarting)(&s.Members[i])
				}
			}
		}
	}
}

// the Pod of the survivor has not started; its claim is another one by now (a copy).
func TestASurvivorDoesNotStartOnAnotherClaim(t *testing.T) {
	for name, ago := range map[string]time.Duration{"with the flag": time.Minute, "without it": time.Hour} {
		for _, p := range []state.PodState{state.PodStarting, state.PodBlocked} {
			s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.NoQuorum, plantest.Consenting, plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone))
			plantest.ForcedAgo(&s, 0, ago)
			plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)(&s.Members[0])
			s.Members[0].Pod = p
			if name == "with the flag" {
				s.Members[0].Start = state.StartForce
			}
			s.Members[0].VolumeID = state.VolumeID{Claim: "copy", Volume: "pv-copy"}
			s.KnownVolumes = map[string]state.VolumeID{plantest.NameOf(0): {Claim: "before", Volume: "pv-before"}}
			step := plan.Plan(s)
			if d, is := step.(steps.DeletePod); !is || d.Name != plantest.NameOf(0) {
				t.Errorf("%s %s: the Pod is left to start on the copy: %T %s", name, p, step, steps.Describe(s, step).Message)
			}
			s.Recovery = nil
		}
	}
}

// as the test "ignores the Raft index of a member that started 1 s ago", but its Pod is 1 min old, because its volume and image took that time.
func TestAMemberThatStillReadsItsDataIsNotPassedOver(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.Size(5), plantest.NoQuorum, plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone), plantest.Consenting)
	plantest.With(0, plantest.Knows(41, 3))(&s)
	plantest.With(1, plantest.Silent, plantest.UnreadyFor(time.Minute), func(m *state.Member) { m.RaftIndex, m.EtcdSince = 2, plantest.Noon.Add(-time.Second) })(&s) // etcd began 1 s ago, and has 50
	if begin, is := plan.Plan(s).(steps.BeginRecovery); is {
		t.Errorf("%s", steps.Describe(s, begin).Message)
	}
}

// The operator asks a survivor if it was restarted alone. A survivor that serves has answered in another way, and its user must not be asked for a permission that
// nothing needs.
func TestOnlyASurvivorThatRefusesAndDoesNotServeIsReportedAsRefusing(t *testing.T) {
	for name, test := range map[string]struct {
		refusal  etcd.Refusal
		serving  bool
		reported bool
	}{
		"it refuses":                        {etcd.RefusedRole, false, true},
		"it refuses, and serves":            {etcd.RefusedRole, true, false},
		"it does not answer, and is silent": {etcd.NotRefused, false, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting)
		plantest.ForcedAgo(&s, 0, time.Hour)
		plantest.Pod(state.PodRunning)(&s.Members[0])
		s.Members[0].Refusal, s.Members[0].Serving, s.Members[0].Start = test.refusal, test.serving, state.StartRejoin
		wait, is := plan.Plan(s).(steps.Wait)
		if reported := is && wait.Reason == v1beta2.ReasonEtcdAccessDenied; reported != test.reported {
			t.Errorf("%s: %T %+v", name, plan.Plan(s), plan.Plan(s))
		}
	}
}
