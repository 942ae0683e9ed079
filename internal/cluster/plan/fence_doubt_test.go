package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The first attempt to switch has fenced the members and returned to Seeding (the seed did not serve for a moment). Member 0 runs, but its peers did
// not reach it when a quorum of 1 and 2 took the fence back, and clients write since. The second attempt begins, and the operator does not reach 1 and
// 2 any more, which serve clients. 0 still reports the fence of the first attempt, which has the same ID.
func TestAFenceThatWasTakenBackDoesNotLetTheSeedTakeOver(t *testing.T) {
	own := etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: etcd.FenceID("uid-back")}
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(serving))
	s.Restore.Returns = 1
	// With an answer of the quorum, the operator knows that the fence is off.
	s.Members[1].Leader, s.Members[0].Leader = true, false
	s.Members[0].Alarms = []etcd.Alarm{own}
	if step := Plan(s); step != (steps.FenceWrites{ID: own.Member}) {
		t.Fatalf("with a quorum, the plan is %T %+v", step, step)
	}
	s = stateWith(formed, members(3), noQuorum, restored(v1beta2.RestoreSwitching), asked, aSeed(serving), with(1, silent), with(2, silent))
	s.Restore.Returns = 1
	s.Members[0].Alarms = []etcd.Alarm{own} // it answers, and has no leader
	if step, is := Plan(s).(steps.AdoptSeed); is {
		t.Errorf("%T: the seed takes over beside %s and %s, which run and acknowledge writes. The status says: %s",
			step, nameOf(1), nameOf(2), steps.Describe(s, step).Message)
	}
}

// A downgrade from 3.6 to 3.5 is half done: member 2 has a new Pod with 3.5, which has not answered yet. A fence does not hold in 3.5.
func TestAMemberThatStartsWithAnOlderVersionIsNotFenced(t *testing.T) {
	s := stateWith(formed, members(3), ofVersion("3.5.26"), restored(v1beta2.RestoreSwitching), asked, aSeed(serving), with(2, silent))
	s.Members[2].Pod, s.Members[2].PodImage = state.PodRunning, "quay.io/coreos/etcd:v3.5.26"
	for i := range 2 {
		s.Members[i].StorageVersion, s.Members[i].Downgrade = "3.5.0", "3.5"
	}
	if step, is := Plan(s).(steps.FenceWrites); is {
		t.Errorf("%T beside %s, whose Pod has image %s", step, nameOf(2), s.Members[2].PodImage)
	}
}

// recoveredBefore: the volumes of 1 and 2 are from before a recovery from member 0 that the status may not have any more.
func recoveredBefore(s *state.State) {
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		if i == 1 || i == 2 {
			s.Members[i].Recovered, s.Members[i].RecoveredAt = true, noon.Add(-time.Hour)
		}
	}
}

func startsOld(t *testing.T, s state.State) {
	t.Helper()
	for range 6 {
		create, is := Plan(s).(steps.CreateMember)
		if !is {
			return
		}
		if create.Name == nameOf(1) || create.Name == nameOf(2) {
			t.Errorf("%s starts (%s), whose data a recovery went on without", create.Name, create.Start)
			return
		}
		for i := range s.Members {
			if s.Members[i].Name == create.Name {
				with(i, pod(state.PodStarting))(&s)
			}
		}
	}
}

// The cluster recovered from member 0 and grows. Its status is lost. The marks on the volumes of 1 and 2 say that the cluster went on without
// their data.
func TestAMarkedVolumeStartsNoMemberAlthoughTheStatusIsLost(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), recoveredBefore)
	s.KnownVoters = nil
	startsOld(t, s)
	with(0, pod(state.PodRunning))(&s)
	if step, is := Plan(s).(steps.Wait); !is || step.Reason != v1beta2.ReasonAnotherVolume || !strings.Contains(step.Message, v1beta2.AnnotationAcceptVolumes) {
		t.Errorf("a person does not learn what to do: %#v", Plan(s))
	}
	// If the member that runs says that they belong to its membership, the recovery was not carried out.
	s.Members[0].Answers, s.Members[0].Knows = true, []etcd.Member{{Name: nameOf(0)}, {Name: nameOf(1)}, {Name: nameOf(2)}}
	if step, is := Plan(s).(steps.CreateMember); !is {
		t.Errorf("members that the survivor knows do not start: %#v", step)
	}
}

// The cluster grows after a recovery from 0: it has the voters 0 and 3. The volume of 3 is lost, and a second recovery has chosen 0. Nothing was
// changed for it. Then a person applies an EtcdRestore, as the status says, and the volumes of 1 and 2 come back.
func TestNoOldMemberStartsWhileASecondRecoveryIsOverruled(t *testing.T) {
	s := stateWith(formed, members(4), noQuorum, consenting, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), with(3, gone), recoveredBefore)
	s.KnownVoters = []string{nameOf(0), nameOf(3)}
	before := s
	recoveredFromTheFirst(&before)
	before.KnownVoters = s.KnownVoters
	begun := NewStatus(before, steps.BeginRecovery{Member: nameOf(0)}, nil, v1beta2.EtcdClusterStatus{}, 1)
	s.Recovery = begun.Recovery
	if s.Recovery.Earlier == nil || s.Recovery.Step != v1beta2.RecoveryForcing {
		t.Fatalf("%+v", s.Recovery)
	}
	s.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSeeding, Incarnation: 2}
	asked(&s)
	startsOld(t, s)
}

// Two EtcdClusters run members of one etcd: somebody migrates it from one namespace or Kubernetes to another. EtcdCluster A is restored: it has fenced
// all voters, and its seed has taken over. The operator of B sees the fence of A among its members. Decision record 77 says that two operators take
// back only their own. If B takes it back, its two voters acknowledge writes again, for which A relies on the fence.
func TestAnotherEtcdClusterTakesNoFenceOfThisOneBack(t *testing.T) {
	b := stateWith(formed, members(2), size(2), foreignVoters(1), storage("3.6.0"), fencedBy("uid-of-a-restore-of-a"))
	if step, is := Plan(b).(steps.UnfenceWrites); is {
		t.Errorf("%T %s: no EtcdRestore of this EtcdCluster has asked for that fence", step, step.ID)
	}
}

// The Secret of the operator is deleted while the members are fenced. The operator cannot ask them any more, so the fence stays, and they refuse writes
// until a person has put the Secret back. The status says that they serve.
func TestTheStatusDoesNotSayThatFencedMembersServe(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(serving), fencedBy("uid-back"), noQuorum, func(s *state.State) { s.SecretProblem = "Secret operator-tls does not exist." })
	for i := range s.Members {
		silent(&s.Members[i]) // without its Secret the operator cannot connect
		s.Members[i].Alarms = nil
	}
	if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, "refuse writes") {
		t.Errorf("the fence stays, and the status says: %s", said)
	}
}

// The status is lost behind the fence of a restore, and a guest is in the cluster. The fence was taken for one of another EtcdCluster, so the members
// refused writes until somebody removed the guest.
func TestAFenceIsTakenBackAlthoughTheStatusWasLostBesideAForeignMember(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), foreignVoters(1), fencedBy("uid-lost"))
	if step, is := Plan(s).(steps.UnfenceWrites); is {
		t.Fatalf("%+v: nothing says that this fence is of this EtcdCluster", step)
	}
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{restoreOf("lost", time.Hour, func(r *v1beta2.EtcdRestore) { r.UID = "uid-lost" })})
	if step := Plan(s); step != (steps.UnfenceWrites{ID: etcd.FenceID("uid-lost")}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(s, step).Message)
	}
}
