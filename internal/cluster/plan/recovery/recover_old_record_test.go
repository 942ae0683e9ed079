package recovery_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A learner (3) has the newest data: the voters 1 and 2 acknowledged what 0 does not have. The volumes of 1 and 2 are lost.
func TestTheVolumeOfALearnerIsKeptByARecovery(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.With(0, plantest.Knows(42, 3)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Knows(50, 3), func(m *state.Member) { m.Learner = true }), plantest.Consenting)
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	s.KnownLearners = []string{plantest.NameOf(3)}
	for i := range s.Members {
		s.Members[i].VolumeCreated = plantest.Noon.Add(-time.Hour)
	}
	step := plan.Plan(s)
	if _, is := step.(steps.BeginRecovery); !is {
		t.Fatalf("the plan is %T %s", step, steps.Describe(s, step).Message)
	}
	recovery := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1).Recovery
	s.Recovery = recovery
	after := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent), func(m *state.Member) { m.VolumeCreated = plantest.Noon.Add(-time.Hour) }))
	after.Recovery = recovery
	after.Recovery.Step = v1beta2.RecoveryGrowing
	if step := plan.Plan(after); step != (steps.SetAsideVolume{Name: plantest.NameOf(3)}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(after, step).Message)
	}
}

// The same, but the status is an old one: member 3 has been promoted since, and it is mute like the others since all nodes restarted.
func TestALearnerOfAnOldStatusThatKnowsMoreIsNotPassedOver(t *testing.T) {
	mute := func(index uint64) func(*state.Member) {
		return func(m *state.Member) {
			m.Answers, m.ClusterID, m.RaftIndex = false, 0, index
			m.UnreadySince = plantest.Noon.Add(-time.Hour)
		}
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.With(0, mute(42)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, mute(50)), plantest.Consenting)
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	s.KnownLearners = []string{plantest.NameOf(3)}
	step := plan.Plan(s)
	if begin, is := step.(steps.BeginRecovery); is && begin.Member == plantest.NameOf(0) {
		t.Errorf("continues from %s with index %d without asking %s with index 50", begin.Member, begin.RaftIndex, plantest.NameOf(3))
	}
}

// An old status (Forcing) is back, without consent. 3 and 4 are voters of today; their claims are being deleted, and their Pods run with the data.
// No leader for a moment.
func TestAnOldStatusStopsNoOnlyCopy(t *testing.T) {
	for name, state4 := range map[string]state.VolumeState{"deleting": state.VolumeDeleting, "lost": state.VolumeLost} {
		for _, pods := range []state.PodState{state.PodRunning, state.PodStarting} {
			s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone))
			monthOld(&s)
			membership := membershipOf(s, 0, 3, 4)
			for _, i := range []int{0, 3, 4} {
				if pods == state.PodRunning {
					plantest.With(i, plantest.Knows(40+uint64(i), 3), func(m *state.Member) { m.Knows, m.AppliedIndex = membership, int64(40+i) })(&s)
				} else {
					plantest.With(i, plantest.Pod(state.PodStarting))(&s)
				}
				s.Members[i].VolumeCreated = plantest.Noon.Add(-29 * 24 * time.Hour)
			}
			s.Members[3].Volume, s.Members[4].Volume = state4, state4
			recovery.HearWitness(&s)
			step := plan.Plan(s)
			if d, is := step.(steps.DeletePod); is {
				m, _ := state.Find(s, d.Name)
				t.Errorf("volumes %s, pods %s: stops %s (%s), data %s, without consent; witness %q knows %v", name, pods, d.Name, d.Message, state.DataOf(s, m), s.Witness, s.KnownVoters)
			}
		}
	}
}

// The claims of 3 and 4 are not in the API (its etcd was restored from a snapshot that is older than them). Member 0 runs, and knows that 3 and 4 vote.
func TestAnOldStatusForcesNoSurvivorThatWasNeverForced(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone))
	monthOld(&s)
	membership := membershipOf(s, 0, 3, 4)
	plantest.With(0, plantest.Knows(40, 3), func(m *state.Member) { m.Knows, m.AppliedIndex = membership, 40 })(&s)
	recovery.HearWitness(&s)
	neverForces(t, s)
}

// A recovery by consent of today. 0 has run on without a restart, 1 was restarted, so it says its index only. The status has an old ID of 1.
func TestAnOldIDCancelsNoRecoveryForEver(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.NoQuorum, plantest.With(2, plantest.Gone), plantest.With(3, plantest.Gone), plantest.With(4, plantest.Gone), plantest.Consenting)
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2), plantest.NameOf(3), plantest.NameOf(4)}
	var membership []etcd.Member
	for i := range 5 {
		membership = append(membership, etcd.Member{ID: etcd.ID(i + 1), Name: plantest.NameOf(i), PeerURLs: []string{plantest.PeerURLOf(i)}, ClientURLs: []string{"http://x"}})
	}
	s.KnownIDs = map[string]etcd.ID{plantest.NameOf(0): 1, plantest.NameOf(1): 0xb1, plantest.NameOf(2): 3, plantest.NameOf(3): 4, plantest.NameOf(4): 5}
	status := v1beta2.EtcdClusterStatus{}
	for i := range 5 {
		status.MemberStatuses = append(status.MemberStatuses, v1beta2.MemberStatus{Name: plantest.NameOf(i), ID: s.KnownIDs[plantest.NameOf(i)].String(), Role: v1beta2.MemberVoter})
	}
	plantest.With(0, plantest.Knows(42, 3), func(m *state.Member) {
		m.ID, m.Knows, m.AppliedIndex = 1, membership, 42
		m.UnreadySince = plantest.Noon.Add(-time.Hour)
	})(&s)
	plantest.With(1, func(m *state.Member) {
		m.ID, m.Answers, m.RaftIndex = 0, false, 41
		m.UnreadySince = plantest.Noon.Add(-time.Hour)
	})(&s)
	recovery.HearWitness(&s)
	begun, cancelled := 0, 0
	for range 12 {
		step := plan.Plan(s)
		switch step.(type) {
		case steps.BeginRecovery:
			begun++
		case steps.CancelRecovery:
			cancelled++
		}
		status = plan.NewStatus(s, step, nil, status, 1)
		s.Recovery = status.Recovery
		s.KnownIDs = state.KnownIDs(status)
		s.Now = s.Now.Add(steps.Describe(s, step).Requeue)
	}
	if cancelled > 0 {
		t.Errorf("a recovery that the spec allows began %d times and was cancelled %d times; ID of 1 in the status: %s", begun, cancelled, s.KnownIDs[plantest.NameOf(1)])
	}
}

// The survivor 0 has run with the flag (ForcedAt), so it may be a cluster of its own. Its Pod was evicted. A person then binds the old disks of 1 and 2
// to new claims.
func TestARecoveryThatForcedTheSurvivorIsNotCancelledByClaimsOfToday(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting)
	began := metav1.NewTime(plantest.Noon.Add(-time.Hour))
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	s.KnownVolumes = map[string]state.VolumeID{}
	for i := range 3 {
		plantest.With(i, plantest.WithoutPod)(&s)
		s.Members[i].VolumeCreated = plantest.Noon.Add(-100 * time.Hour)
		s.Members[i].VolumeID = state.VolumeID{Claim: "of-now", Volume: "pv-" + plantest.NameOf(i)}
		s.KnownVolumes[plantest.NameOf(i)] = state.VolumeID{Claim: "before", Volume: "pv-" + plantest.NameOf(i)}
	}
	s.Members[1].VolumeCreated, s.Members[2].VolumeCreated = plantest.Noon.Add(-time.Minute), plantest.Noon.Add(-time.Minute)
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), Voters: s.KnownVoters, StartedAt: &began, ForcedAt: &began}
	started := map[string]bool{}
	for range 6 {
		step := plan.Plan(s)
		switch step := step.(type) {
		case steps.CancelRecovery:
			s.Recovery = nil
		case steps.CreateMember:
			started[step.Name] = true
			for i := range s.Members {
				if s.Members[i].Name == step.Name {
					plantest.Pod(state.PodStarting)(&s.Members[i])
				}
			}
		default:
			continue
		}
	}
	if started[plantest.NameOf(0)] && started[plantest.NameOf(1)] && started[plantest.NameOf(2)] {
		t.Errorf("the survivor, which may be a cluster of its own, and a quorum of the others start at the same time")
	}
}
