package recovery_test

import (
	"slices"
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

// A month ago the cluster recovered from member 0. Members 3 and 4 were added since. The status from that hour comes back from an API backup
// while all nodes restart, so no member answers. The spec does not consent to a recovery any more. All three voters have their data.
func TestAnOldStatusForcesNoClusterThatHasItsData(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone))
	monthOld(&s)
	for _, i := range []int{0, 3, 4} {
		plantest.With(i, plantest.WithoutPod, func(m *state.Member) { m.VolumeCreated = plantest.Noon.Add(-29 * 24 * time.Hour) })(&s)
	}
	for _, pods := range []string{"no Pod is there", "the Pods start again"} {
		if pods == "the Pods start again" {
			for _, i := range []int{0, 3, 4} {
				plantest.With(i, plantest.OnVolume, plantest.Pod(state.PodStarting))(&s)
			}
		}
		for range 4 {
			step := plan.Plan(s)
			if d, is := step.(steps.DeletePod); is {
				m, _ := state.Find(s, d.Name)
				for i := range s.Members {
					if s.Members[i].Name == m.Name {
						plantest.WithoutPod(&s.Members[i])
					}
				}
				continue
			}
			if _, is := step.(steps.CancelRecovery); is {
				s.Recovery = nil
				continue
			}
			if c, is := step.(steps.CreateMember); is && c.Start == state.StartForce {
				t.Errorf("%s: survivor %s starts with --force-new-cluster, although all voters have their data", pods, c.Name)
			}
			break
		}
	}
}

// The members answer, have no leader for a moment, and name three voters that all have data. The old status wins nevertheless. When the
// cluster has grown again, the volumes of 3 and 4 are deleted at once, because the old record of the recovery does not have them.
func TestAnOldStatusForcesNothingAgainstWhatMembersKnow(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone))
	monthOld(&s)
	membership := membershipOf(s, 0, 3, 4)
	for _, i := range []int{0, 3, 4} {
		plantest.With(i, plantest.Knows(40+uint64(i), 3), func(m *state.Member) { m.Knows, m.AppliedIndex = membership, int64(40+i) })(&s)
	}
	recovery.HearWitness(&s)
	step := plan.Plan(s)
	if d, is := step.(steps.DeletePod); is {
		t.Errorf("the operator stops %s for --force-new-cluster without consent, while all voters run", d.Name)
	}
}

// The status is from an API backup, when the cluster had members 0, 1 and 2. Now its voters are 0 and 3 to 6, of which 0 and 3 have data.
// The recovery compares 0 and 3, and continues from 0. The volume of 3 may have writes that no other has.
func TestARecoverySetsTheVolumeOfEachVoterAside(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.With(0, plantest.Knows(42, 3)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Knows(41, 3)), plantest.Consenting)
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	step := plan.Plan(s)
	begin, is := step.(steps.BeginRecovery)
	if !is || begin.Member != plantest.NameOf(0) {
		t.Fatalf("the plan is %T %s", step, steps.Describe(s, step).Message)
	}
	recovery := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1).Recovery
	if !slices.Contains(recovery.Voters, plantest.NameOf(3)) {
		t.Errorf("the record of the recovery lacks %s, whose volume it replaces", plantest.NameOf(3))
	}

	after := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent)))
	after.Recovery = recovery
	after.Recovery.Step = v1beta2.RecoveryGrowing
	if step := plan.Plan(after); step != (steps.SetAsideVolume{Name: plantest.NameOf(3)}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(after, step).Message)
	}
}

// membershipOf is what etcd tells of these members.
func membershipOf(s state.State, members ...int) (membership []etcd.Member) {
	for _, i := range members {
		membership = append(membership, etcd.Member{ID: s.Members[i].ID, Name: plantest.NameOf(i), PeerURLs: []string{plantest.PeerURLOf(i)}, ClientURLs: []string{"http://x"}})
	}
	return membership
}

// monthOld: the status is that of a recovery from 0 a month ago, when 0, 1 and 2 were the voters.
func monthOld(s *state.State) {
	began := metav1.NewTime(plantest.Noon.Add(-30 * 24 * time.Hour))
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), Voters: s.KnownVoters, StartedAt: &began, ForcedAt: &began}
}
