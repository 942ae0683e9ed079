package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// recoveredFromTheFirst: the cluster recovered from member 0 an hour ago, and grows.
func recoveredFromTheFirst(s *state.State) {
	s.KnownVoters = []string{nameOf(0)}
	s.Recovery = &v1beta2.ClusterRecoveryStatus{
		Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)},
		StartedAt: &metav1.Time{Time: noon.Add(-time.Hour)}, ForcedAt: &metav1.Time{Time: noon.Add(-time.Hour)},
	}
}

// onlyTheSurvivorStarts plans until nothing is started any more.
func onlyTheSurvivorStarts(t *testing.T, s state.State) {
	t.Helper()
	for create, is := Plan(s).(steps.CreateMember); is; create, is = Plan(s).(steps.CreateMember) {
		if create.Name != nameOf(0) {
			t.Fatalf("%s starts (%s) beside survivor %s", create.Name, create.Start, nameOf(0))
		}
		with(0, pod(state.PodStarting))(&s)
	}
}

// The cluster recovered from member 0, which has served alone and takes writes of clients. The PersistentVolumes of 1 and 2 come back, and the
// Pod of 0 is gone for a moment. 1 and 2 were started, and are a quorum of the old membership: clients got two histories, and what the one
// acknowledged was lost.
func TestNoOldMemberStartsBesideASurvivorThatGrows(t *testing.T) {
	marked := func(m *state.Member) { m.Recovered = true }
	s := stateWith(formed, members(3), noQuorum, consenting, with(0, withoutPod), with(1, withoutPod, marked), with(2, withoutPod, marked), recoveredFromTheFirst)
	onlyTheSurvivorStarts(t, s)
}

// A person has deleted the claims of 1 and 2, as the manual says, and creates them again later, perhaps from copies. The status has no volumes of
// members that are not in the membership, so they are recognised by their names.
func TestNoNewClaimStartsBesideASurvivorThatGrows(t *testing.T) {
	later := func(m *state.Member) {
		m.VolumeCreated = noon.Add(-time.Minute)
		m.VolumeID = state.VolumeID{Claim: "another", Volume: "pv-another"}
	}
	s := stateWith(formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod, later), with(2, withoutPod, later), recoveredFromTheFirst)
	s.KnownVoters = []string{nameOf(0)}
	s.KnownVolumes = map[string]state.VolumeID{nameOf(0): s.Members[0].VolumeID}
	s.Recovery = &v1beta2.ClusterRecoveryStatus{
		Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)},
		StartedAt: &metav1.Time{Time: noon.Add(-time.Hour)}, ForcedAt: &metav1.Time{Time: noon.Add(-time.Hour)},
	}
	onlyTheSurvivorStarts(t, s)
}

// If what was served since the recovery is lost, the old data is all that there is. A person decides that, because it is not the newest.
func TestAPersonMayContinueWithTheDataFromBeforeARecovery(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(0, gone), with(1, withoutPod), with(2, withoutPod), recoveredFromTheFirst)
	for i := range 3 {
		s.Members[i].VolumeID = state.VolumeID{Claim: types.UID("claim-" + nameOf(i)), Volume: "pv-" + nameOf(i)}
	}
	step := Plan(s)
	said := steps.Describe(s, step).Message
	if _, waits := step.(steps.Wait); !waits || !strings.Contains(said, "went on without the data of "+nameOf(1)) || !strings.Contains(said, "claim-"+nameOf(1)) {
		t.Errorf("%T %s", step, said)
	}
	s.Asked.AcceptVolumes = []string{"claim-" + nameOf(1), "claim-" + nameOf(2)}
	if create, is := Plan(s).(steps.CreateMember); !is || create.Name == nameOf(0) {
		t.Errorf("with the consent of a person the plan is %T %+v", Plan(s), Plan(s))
	}
}

// The recovery has chosen member 0, and nothing was changed yet. It waits until the node of 1 confirms that its Pod has ended. Meanwhile the volumes
// of 1 and 2 come back. Member 0 was forced nevertheless, and writes that only 1 and 2 had acknowledged were lost.
func TestARecoveryEndsWhenTheDataIsBack(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{
		Step: v1beta2.RecoveryForcing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)},
		StartedAt: &metav1.Time{Time: noon.Add(-time.Hour)},
	}
	for range 3 {
		step := Plan(s)
		switch step := step.(type) {
		case steps.RecordForcing:
			s.Recovery.ForcedAt = &metav1.Time{Time: s.Now}
		case steps.CreateMember:
			if step.Start == state.StartForce {
				t.Errorf("survivor %s starts with --force-new-cluster, although all voters have their data and nothing was changed", step.Name)
			}
			return
		default:
			return
		}
	}
}

// The survivor runs without the flag, answers that it leads, and is too slow to serve a read, because its disk stalls. A member leads without others
// only if it is alone, so it was forced. Its recovery was cancelled as one that never began.
func TestASurvivorThatLeadsIsAlone(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, with(1, gone), with(2, gone))
	forcedAgo(&s, 0, time.Hour)
	with(0, pod(state.PodRunning), unreadyFor(3*time.Minute), func(m *state.Member) {
		m.Start, m.Answers, m.Leader, m.Serving, m.RaftIndex, m.RaftTerm = state.StartRejoin, true, true, false, 50, 9
		m.EtcdSince = noon.Add(-3 * time.Minute)
	})(&s)
	if cancel, is := Plan(s).(steps.CancelRecovery); is {
		t.Errorf("%s", cancel.Message)
	}
}
