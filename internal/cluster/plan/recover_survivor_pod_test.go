package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// forcedAgo: the status says since when the survivor may have run with the flag.
func forcedAgo(s *state.State, survivor int, ago time.Duration) {
	at := metav1.NewTime(noon.Add(-ago))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(survivor), Voters: s.KnownVoters, StartedAt: &at, ForcedAt: &at}
}

// the Pod of the survivor without the flag has no node (drained); a person follows the advice and deletes the claim.
func TestASurvivorWhoseClaimIsDeletedIsGivenUp(t *testing.T) {
	for name, how := range map[string]func(*state.Member){
		"unschedulable": blockedBy(v1beta2.ReasonPodUnschedulable),
		"starting":      pod(state.PodStarting),
	} {
		s := stateWith(formed, members(5), size(5), noQuorum, consenting, with(2, gone), with(3, gone), with(4, gone), with(1, withoutPod))
		forcedAgo(&s, 0, time.Hour)
		how(&s.Members[0])
		s.Members[0].UnreadySince = noon.Add(-time.Hour)
		s.Members[0].Volume = state.VolumeNone
		if wait, is := Plan(s).(steps.Wait); is {
			t.Errorf("%s: the claim is deleted, and the recovery waits for ever: %s", name, wait.Message)
		}
	}
}

// the Pod of the survivor cannot run because of spec.pod; a person corrects the spec.
func TestACorrectedSpecStartsTheSurvivor(t *testing.T) {
	for name, ago := range map[string]time.Duration{"with the flag": time.Minute, "without it": time.Hour} {
		s := stateWith(formed, members(3), noQuorum, consenting, with(1, gone), with(2, gone))
		forcedAgo(&s, 0, ago)
		blockedBy(v1beta2.ReasonPodUnschedulable)(&s.Members[0])
		s.Members[0].Outdated = true
		if name == "with the flag" {
			s.Members[0].Start = state.StartForce
		}
		if wait, is := Plan(s).(steps.Wait); is {
			t.Errorf("%s: the spec is corrected, and the Pod of before stays: %s", name, wait.Message)
		}
	}
}

// the survivor was forced (alone). Its Pod without the flag took 1 min for its volume and image; etcd began 1 s ago, and has no leader yet.
func TestASurvivorThatStartsIsGivenTimeForItsElection(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting)
	forcedAgo(&s, 0, time.Hour)
	with(0, silent, unreadyFor(time.Minute), func(m *state.Member) { m.RaftIndex, m.EtcdSince = 50, noon.Add(-time.Second) })(&s)
	with(1, withoutPod)(&s)
	with(2, withoutPod)(&s)
	step := Plan(s)
	if c, is := step.(steps.CancelRecovery); is {
		t.Errorf("cancelled after 1 s of etcd: %s", c.Message)
		s.Recovery = NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{Recovery: s.Recovery}, 1).Recovery
		for range 2 {
			next := Plan(s)
			if create, is := next.(steps.CreateMember); is {
				for i := range s.Members {
					if s.Members[i].Name == create.Name {
						pod(state.PodStarting)(&s.Members[i])
					}
				}
			}
		}
	}
}

// a survivor that may be alone; an EtcdRestore is made; the claims of the others came back.
func TestNobodyStartsBesideTheSurvivorDuringARestore(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, with(0, pod(state.PodStarting)), with(1, withoutPod), with(2, withoutPod), restored(v1beta2.RestoreSeeding))
	forcedAgo(&s, 0, time.Hour)
	for range 3 {
		step := Plan(s)
		if create, is := step.(steps.CreateMember); is {
			if create.Name == nameOf(1) || create.Name == nameOf(2) {
				t.Errorf("%s starts beside survivor %s, which may be a cluster of its own", create.Name, nameOf(0))
			}
			for i := range s.Members {
				if s.Members[i].Name == create.Name {
					pod(state.PodStarting)(&s.Members[i])
				}
			}
		}
	}
}

// the Pod of the survivor has not started; its claim is another one by now (a copy).
func TestASurvivorDoesNotStartOnAnotherClaim(t *testing.T) {
	for name, ago := range map[string]time.Duration{"with the flag": time.Minute, "without it": time.Hour} {
		for _, p := range []state.PodState{state.PodStarting, state.PodBlocked} {
			s := stateWith(formed, members(5), size(5), noQuorum, consenting, with(1, withoutPod), with(2, gone), with(3, gone), with(4, gone))
			forcedAgo(&s, 0, ago)
			blockedBy(v1beta2.ReasonPodUnschedulable)(&s.Members[0])
			s.Members[0].Pod = p
			if name == "with the flag" {
				s.Members[0].Start = state.StartForce
			}
			s.Members[0].VolumeID = state.VolumeID{Claim: "copy", Volume: "pv-copy"}
			s.KnownVolumes = map[string]state.VolumeID{nameOf(0): {Claim: "before", Volume: "pv-before"}}
			step := Plan(s)
			if d, is := step.(steps.DeletePod); !is || d.Name != nameOf(0) {
				t.Errorf("%s %s: the Pod is left to start on the copy: %T %s", name, p, step, steps.Describe(s, step).Message)
			}
			s.Recovery = nil
		}
	}
}

// as the test "ignores the Raft index of a member that started 1 s ago", but its Pod is 1 min old, because its volume and image took that time.
func TestAMemberThatStillReadsItsDataIsNotPassedOver(t *testing.T) {
	s := stateWith(formed, members(5), size(5), noQuorum, with(2, gone), with(3, gone), with(4, gone), consenting)
	with(0, knows(41, 3))(&s)
	with(1, silent, unreadyFor(time.Minute), func(m *state.Member) { m.RaftIndex, m.EtcdSince = 2, noon.Add(-time.Second) })(&s) // etcd began 1 s ago, and has 50
	if begin, is := Plan(s).(steps.BeginRecovery); is {
		t.Errorf("%s", steps.Describe(s, begin).Message)
	}
}
