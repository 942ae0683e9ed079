package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestReaderTheClientsOfAnEarlierClusterKeepRootWhenTheirSecretIsIssuedAgain(t *testing.T) {
	w := earlier(t, managedFor(time.Hour))
	w.follow()
	if got := w.commonName("client"); got != rootUser {
		t.Fatalf("the common name is %s", got)
	}
	delete(w.m.HandedOut, "client") // a person deletes the Secret to have it issued again; authentication is on
	w.s.ClientName = w.m.ClientName(w.s)
	w.judge()
	w.act(issueCertificates(w.s))
	if got := w.commonName("client"); got != rootUser {
		t.Errorf("applications were root, and are %s now, a user that etcd does not know", got)
	}
}

func TestReaderTheSafetySnapshotHasThePasswordOfTheOldMembers(t *testing.T) {
	request := func(s *State) {
		asked(s)
		s.Request.Safety = v1beta2.SafetySnapshotIfPossible
	}
	s := state(formed, members(3), user, restored(v1beta2.RestoreSeeding), request, aSeed(serving, deniedBy(etcd.RefusedPassword)))
	wait, _ := Plan(s).(Wait)
	if !strings.Contains(wait.Message, "Correct Secret login") {
		t.Fatalf("the plan is %+v", wait)
	}
	// The person does that: the Secret has the password of the snapshot, and the old members refuse it from now on.
	s = state(formed, members(3), user, blind(etcd.RefusedPassword), restored(v1beta2.RestoreSeeding), request, aSeed(serving))
	if _, asks := Plan(s).(AwaitSafetySnapshot); !asks {
		t.Fatalf("the plan is %+v", Plan(s))
	}
	// restore-operator reads the same Secret (status.operatorAuthSecret), is refused, and records that.
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Message: "etcd refuses user keeper"}
	if step, switches := Plan(s).(BeginSwitch); switches {
		t.Errorf("whoever follows the message switches without the safety snapshot: %+v", step)
	}
}

func TestReaderAFencedMemberIsKeptForAPersonToLookAt(t *testing.T) {
	s := state(formed, members(3), with(1, outOfService), asks(Asked{Fence: []string{nameOf(1)}}))
	for i := range s.Members {
		s.Members[i].Hash = "same"
		s.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: 2}}
	}
	s.Members[1].Hash = "other"
	if step, removes := Plan(s).(RemoveMember); removes {
		t.Errorf("docs/day-2.md: a fenced member is replaced only if its data is lost; the plan is %+v", step)
	}
}

func TestReaderAFenceHoldsWhileAnotherMemberIsReplaced(t *testing.T) {
	s := state(formed, members(3), with(1, outOfService), with(2, gone, removed), asks(Asked{Fence: []string{nameOf(1)}}))
	if step, adds := Plan(s).(AddToService); adds {
		t.Errorf("clients are led to the fenced member again: %+v", step)
	}
}

func TestReaderAVolumeFromAfterARecoveryIsNotCalledDataFromBefore(t *testing.T) {
	s := state(formed, members(3), with(3, volume(VolumePresent)), func(s *State) {
		// Member 3 was lost in a recovery a year ago. A new member got its free name, and was replaced today.
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	if step, aside := Plan(s).(SetAsideVolume); aside {
		t.Errorf("%s", Describe(s, step).Message)
	}
}

func TestReaderAReplacementThatIsAskedForBeginsAtOnceIfTheMemberIsDown(t *testing.T) {
	s := state(formed, members(3), with(1, pod(PodRunning)), asks(Asked{Replace: []string{nameOf(1)}}), grace(24*time.Hour))
	if _, removes := Plan(s).(RemoveMember); !removes {
		t.Logf("for information: the plan is %+v", Plan(s))
	}
}

func TestReaderAVolumeThatAdmissionDoesNotLetBeSetAsideIsNotWrittenWithoutEnd(t *testing.T) {
	var repeats Repeats
	s := state(formed, members(3), with(3, volume(VolumePresent)), func(s *State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	writes := 0
	for range 600 { // a webhook strips the label: the volume stays as it was
		s.Held = repeats.Held(1, s.Now)
		step := Plan(s)
		if _, is := step.(SetAsideVolume); is {
			writes++
		}
		repeats.Did(step, 1, s.Now)
		s.Now = s.Now.Add(time.Second)
	}
	if writes > 10 {
		t.Errorf("%d writes in 10 minutes, and the recovery never completes", writes)
	}
}

func TestReaderTheStatusSaysThatAFenceKeepsAMemberFromBeingReplaced(t *testing.T) {
	s := state(formed, members(3), with(1, pod(PodRunning), outOfService, unreadyFor(time.Hour)), asks(Asked{Fence: []string{nameOf(1)}}))
	wait, _ := Plan(s).(Wait)
	if !strings.Contains(wait.Message, v1beta2.AnnotationFence) {
		t.Errorf("the message does not name the cause: %s", wait.Message)
	}
}

func TestReaderAQuorumThatNeedsForeignVotersIsNotUnderTheThresholdOfUnreachable(t *testing.T) {
	// The operator cannot reach its 3 members for a moment: the Pods are ready. 3 foreign voters run.
	s := state(formed, members(3), noQuorum, func(s *State) {
		for i := range 3 {
			guest(func(m *ForeignMember) { m.ID += etcd.ID(i) })(s)
			m := &s.Members[i]
			m.Answers, m.PodReady, m.UnreadySince = false, true, time.Time{}
		}
	})
	if unknown, _ := s.QuorumUnknown(); !unknown {
		status := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1)
		t.Errorf("all 3 Pods are ready, and the status is %+v", status.Conditions[1])
	}
}
