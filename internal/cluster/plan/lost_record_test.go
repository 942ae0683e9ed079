package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// fiveBefore is a cluster of 5 that was created yesterday.
func fiveBefore(changes ...change) state.State {
	s := stateWith(append([]change{formed, members(5), size(5), noQuorum, consenting, recorded}, changes...)...)
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		s.Members[i].UnreadySince = noon.Add(-time.Hour)
	}
	return s
}

// doer applies steps to the status, and the status to the state, as the next pass does.
func doer(s *state.State, status *v1beta2.EtcdClusterStatus) func(steps.Step) {
	return func(step steps.Step) {
		*status = NewStatus(*s, step, nil, *status, 1)
		s.Recovery, s.LastRecovery, s.CancelledSurvivors = status.Recovery.DeepCopy(), status.LastRecovery.DeepCopy(), slices.Clone(status.CancelledSurvivors)
	}
}

// cancelledFrom lets the cluster recover from member i, which starts with the flag and loses its volume then. Claims are marked as the actor does.
func cancelledFrom(t *testing.T, s *state.State, do func(steps.Step), i int) {
	t.Helper()
	begin, is := Plan(*s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(i) {
		t.Fatalf("the recovery does not begin from %d: %T %s", i, Plan(*s), steps.Describe(*s, Plan(*s)).Message)
	}
	do(begin)
	for j := range s.Members {
		with(j, withoutPod)(s)
	}
	if step, is := Plan(*s).(steps.RecordForcing); !is {
		t.Fatalf("%T", step)
	}
	markAll(s)
	do(steps.RecordForcing{Member: nameOf(i)})
	if create, is := Plan(*s).(steps.CreateMember); !is || create.Start != state.StartForce || create.Name != nameOf(i) {
		t.Fatalf("%+v", Plan(*s))
	}
	with(i, volume(state.VolumeLost))(s) // and its Pod was evicted, after etcd had run with the flag
	cancel, is := Plan(*s).(steps.CancelRecovery)
	if !is {
		t.Fatalf("%+v", Plan(*s))
	}
	do(cancel)
}

// markAll marks as markReplaced in package cluster does.
func markAll(s *state.State) {
	marked := volumes.ReplacedByRecovery(*s)
	for j := range s.Members {
		if slices.Contains(marked, s.Members[j].Name) {
			s.Members[j].Recovered, s.Members[j].RecoveredAt = true, s.Recovery.StartedAt.Time
		}
	}
}

// starts are the members that start one after the other.
func starts(s state.State) []string {
	var started []string
	for range 8 {
		create, is := Plan(s).(steps.CreateMember)
		if !is {
			break
		}
		started = append(started, create.Name)
		i := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == create.Name })
		with(i, pod(state.PodStarting))(&s)
	}
	return started
}

func votersIn(status v1beta2.EtcdClusterStatus) (voters []string) {
	for _, m := range status.MemberStatuses {
		voters = append(voters, m.Name)
	}
	return voters
}

func statusOf(s state.State) (status v1beta2.EtcdClusterStatus) {
	for _, m := range s.Members {
		status.MemberStatuses = append(status.MemberStatuses, v1beta2.MemberStatus{Name: m.Name, Role: v1beta2.MemberVoter, VolumeClaimUID: m.VolumeID.Claim, VolumeName: m.VolumeID.Volume})
	}
	return status
}

// Two recoveries are cancelled one after the other, from 0 and then from 1, each after its survivor had started with the flag and lost its volume. All
// volumes come back. The status remembers only that the data of 1 may be a cluster of its own: 0 starts alone, a cluster of its own, beside the quorum
// of 2, 3 and 4.
func TestTheFirstOfTwoCancelledSurvivorsIsForgotten(t *testing.T) {
	s := fiveBefore(with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	status := statusOf(s)
	do := doer(&s, &status)
	cancelledFrom(t, &s, do, 0)
	s.Now = noon.Add(time.Hour)
	with(1, pod(state.PodRunning), knows(41, 3))(&s)
	s.Members[1].UnreadySince = noon.Add(-time.Hour)
	cancelledFrom(t, &s, do, 1)
	s.KnownVoters = votersIn(status)
	for i := range s.Members {
		with(i, volume(state.VolumePresent))(&s)
	}
	started := starts(s)
	if slices.Contains(started, nameOf(0)) {
		t.Errorf("0, whose data is a cluster of its own, starts beside the others: %v; cancelled are %+v", started, status.CancelledSurvivors)
	}
}

// A year ago a person accepted the claims (the storage was migrated), and the annotation stayed. The recovery from 0 is cancelled after 0 was forced.
// The consent of a year ago counts for the data of the survivor.
func TestAnOldConsentCountsForACancelledSurvivor(t *testing.T) {
	s := fiveBefore(with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	for i := range s.Members {
		s.Asked.AcceptVolumes = append(s.Asked.AcceptVolumes, "claim-of-"+nameOf(i)) // a year ago
	}
	status := statusOf(s)
	do := doer(&s, &status)
	cancelledFrom(t, &s, do, 0)
	s.KnownVoters = votersIn(status)
	for i := range s.Members {
		with(i, volume(state.VolumePresent))(&s)
	}
	started := starts(s)
	if slices.Contains(started, nameOf(0)) {
		t.Errorf("0, whose data is a cluster of its own, starts beside the others: %v; cancelled are %+v", started, status.CancelledSurvivors)
	}
}

// The claim of the survivor is deleted, the PersistentVolume is retained. A person creates the claim again for that PersistentVolume, as the manual
// says ("AnotherVolume", step 1; "is the same volume, and needs nothing"). The claim is younger than the recovery, and the data is not.
func TestACancelledSurvivorStartsOnANewClaimForItsPersistentVolume(t *testing.T) {
	s := fiveBefore(with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	status := statusOf(s)
	do := doer(&s, &status)
	cancelledFrom(t, &s, do, 0)
	s.KnownVoters = votersIn(status)
	s.Now = noon.Add(time.Hour)
	for i := range s.Members {
		with(i, volume(state.VolumePresent))(&s)
	}
	s.Members[0].VolumeID.Claim, s.Members[0].VolumeCreated = "new-claim-of-the-same-volume", noon.Add(30*time.Minute)
	started := starts(s)
	if slices.Contains(started, nameOf(0)) {
		t.Errorf("0, whose data is a cluster of its own, starts beside the others: %v; cancelled are %+v", started, status.CancelledSurvivors)
	}
}

// A first recovery (from 0, at t1) marks the claims and is cancelled. A second one (from 1, at t2) is carried out, and the cluster grows. The claims
// have marks already, so they keep the time t1. An API backup brings back the status from between. It knows t1, so the marks are not newer.
func TestAMarkKeepsTheTimeOfACancelledRecovery(t *testing.T) {
	s := fiveBefore(with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	status := statusOf(s)
	do := doer(&s, &status)
	cancelledFrom(t, &s, do, 0)
	between := *status.DeepCopy()
	s.Now = noon.Add(time.Hour)
	with(1, pod(state.PodRunning), knows(41, 3))(&s)
	s.Members[1].UnreadySince = noon.Add(-time.Hour)
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(1) {
		t.Fatalf("%+v", Plan(s))
	}
	do(begin)
	with(1, withoutPod)(&s)
	markAll(&s)
	do(steps.RecordForcing{Member: nameOf(1)})
	markAll(&s)
	do(steps.RecordForced{Revision: 7})
	for _, i := range []int{2, 3, 4} {
		if m := s.Members[i]; m.RecoveredAt.Before(status.Recovery.StartedAt.Time) {
			t.Errorf("the recovery of %s continues without %s, and the mark says %s", status.Recovery.StartedAt, m.Name, m.RecoveredAt)
		}
	}
	// The old status, and all volumes are there again. 1 does not answer for a second.
	old := fiveBefore()
	for i := range old.Members {
		with(i, withoutPod)(&old)
		old.Members[i].Recovered, old.Members[i].RecoveredAt = s.Members[i].Recovered, s.Members[i].RecoveredAt
	}
	old.Now = noon.Add(30 * 24 * time.Hour)
	old.Recovery, old.LastRecovery, old.CancelledSurvivors, old.KnownVoters = between.Recovery, between.LastRecovery, between.CancelledSurvivors, votersIn(between)
	started := starts(old)
	if slices.Contains(started, nameOf(2)) && slices.Contains(started, nameOf(3)) && slices.Contains(started, nameOf(4)) {
		t.Errorf("2, 3 and 4 start, a quorum of the history before the recovery from 1: %v", started)
	}
}

// The operator is upgraded between RecordForcing and RecordForced. The claims have marks without a time by the earlier release, and never get one.
func TestAMarkWithoutATimeGetsOneInTheSameRecovery(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod))
	at := metav1.NewTime(noon.Add(-time.Minute))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), StartedAt: &at, ForcedAt: &at, Voters: []string{nameOf(0), nameOf(1), nameOf(2)}}
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		s.Members[i].Recovered = i > 0 // by the earlier release
	}
	markAll(&s) // RecordForced of this release
	for i := 1; i < 3; i++ {
		if s.Members[i].RecoveredAt.IsZero() {
			t.Errorf("the mark of %s has no time after the survivor served alone", s.Members[i].Name)
		}
	}
	s.Recovery = nil // the status from before the recovery comes back
	if started := starts(s); len(started) > 1 {
		t.Errorf("with the status from before, %v start beside the recovered cluster", started)
	}
}

// The status says that 0 was about to start with the flag. It never did, or the status is an old one, and 0 serves in the quorum of all three. The
// recovery is cancelled, and the status says for good that the data of 0 may be a cluster of its own.
func TestASurvivorThatServesInTheQuorumIsNotNotedAsForced(t *testing.T) {
	s := stateWith(formed, members(3), recorded, storage("3.6.0"))
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
	}
	at := metav1.NewTime(noon.Add(-time.Hour))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), StartedAt: &at, ForcedAt: &at, Voters: []string{nameOf(0), nameOf(1), nameOf(2)}}
	status := statusOf(s)
	cancel, is := Plan(s).(steps.CancelRecovery)
	if !is {
		t.Fatalf("%+v", Plan(s))
	}
	doer(&s, &status)(cancel)
	if len(status.CancelledSurvivors) > 0 {
		t.Errorf("0 serves in the quorum, and the status says that its data may be a cluster of its own: %+v", status.CancelledSurvivors)
	}
	for name, restarts := range map[string]change{"does not answer once": with(0, silent), "for a second": with(0, pod(state.PodStarting)), "its node reboots": with(0, withoutPod)} {
		one := s
		one.Members = slices.Clone(s.Members)
		restarts(&one)
		if step := Plan(one); step == (steps.SetAsideVolume{Name: nameOf(0)}) || strings.Contains(steps.Describe(one, step).Message, "not the one") || isDelete(step) {
			t.Errorf("%s: %T: %s", name, step, steps.Describe(one, step).Message)
		}
	}
	// A year later all nodes restart, and the disk of 1 is lost: 0 and 2 are a quorum.
	later := stateWith(formed, members(3), noQuorum, recorded, consenting, with(0, withoutPod), with(1, withoutPod, volume(state.VolumeLost)), with(2, withoutPod))
	for i := range later.Members {
		later.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
	}
	later.CancelledSurvivors, later.Now = status.CancelledSurvivors, noon.Add(365*24*time.Hour)
	if started := starts(later); !slices.Contains(started, nameOf(0)) {
		with(2, pod(state.PodRunning), knows(41, 3))(&later)
		t.Errorf("0 does not start, only %v: %s", started, steps.Describe(later, Plan(later)).Message)
	}
}

func isDelete(step steps.Step) bool {
	_, is := step.(steps.DeletePod)
	return is
}

// The status is an old one, and 3 and 4, with which the cluster went on, are lost for good. The manual (AnotherVolume, step 4) says to continue from
// the member that is not marked by quorumLoss ForceNewCluster. That has no effect: the wait for the marks comes before.
func TestTheMemberThatIsNotMarkedCanBeContinuedFrom(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, withoutPod), with(2, withoutPod), recoveredBefore)
	s.Members[0].UnreadySince = noon.Add(-time.Hour)
	s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)} // from before the recovery
	step := Plan(s)
	said := steps.Describe(s, step).Message
	if _, is := step.(steps.BeginRecovery); !is && !strings.Contains(said, "delete") {
		t.Errorf("the operator does not continue from 0, and does not say what would make it: %T %s", step, said)
	}
}

// Restore "first" and then restore "second" were carried out. The status is lost. Both EtcdRestores are there, complete. GitOps creates "first" again:
// it replaces all data that was written since.
func TestAnEarlierCompleteRestoreIsRecordedIfTheStatusIsLost(t *testing.T) {
	const day = 24 * time.Hour
	s := stateWith(members(3), storage("3.6.0"))
	for i := range s.Members {
		s.Members[i].Name, s.Members[i].Incarnation = state.MemberName(s.Name, s.UID, 3, i), 3
	}
	s.MembershipKnown, s.KnownVoters = true, nil
	servicesFor(3, seedID)(&s)
	s.Services.ClientRestoreUID = "uid-second"
	state.RecogniseFormed(&s)
	services.CorrectIncarnation(&s)
	first, second := restoreOf("first", 4*day, withCondition(v1beta2.ConditionComplete)), restoreOf("second", 3*day, withCondition(v1beta2.ConditionComplete))
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{first, second})
	status := NewStatus(s, steps.CompleteRestore{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	next := stateWith(formed, members(3), storage("3.6.0"))
	next.Restore, next.PastRestores = status.Restore, status.PastRestores
	restore.ChooseRestore(&next, []v1beta2.EtcdRestore{second, restoreOf("first", time.Minute, recreated)})
	if next.Request != nil {
		t.Errorf("EtcdRestore first is carried out again after it was created again: %T; the record is %+v", Plan(next), status.PastRestores)
	}
}

// After a cancelled recovery nothing but the data of 0 is left. A person accepts its claim, as the message says, and 0 serves alone. Then the person
// takes the annotation away. The operator takes the volume from the only member, which has the only copy.
func TestTheVolumeOfAnAcceptedSurvivorIsNotTakenAway(t *testing.T) {
	for name, n := range map[string]int{"alone": 1, "with two others": 3} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(n), size(3), recorded, storage("3.6.0"), func(s *state.State) { s.Asked.AcceptVolumes = []string{"claim-of-" + nameOf(0)} })
			s.Members[0].VolumeCreated = noon.Add(-24 * time.Hour)
			s.CancelledSurvivors = []v1beta2.CancelledSurvivor{{Member: nameOf(0), StartedAt: metav1.NewTime(noon.Add(-time.Hour))}}
			aside := steps.SetAsideVolume{Name: nameOf(0)}
			if step := Plan(s); step == aside {
				t.Fatalf("although its claim is accepted: %s", steps.Describe(s, step).Message)
			}
			status := NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{CancelledSurvivors: s.CancelledSurvivors}, 1)
			s.CancelledSurvivors, s.Asked.AcceptVolumes = status.CancelledSurvivors, nil
			if n == 3 {
				with(0, withoutPod)(&s) // a rolling update restarts it
			}
			if step := Plan(s); step == aside {
				t.Errorf("it has served since, and the status says %+v: %s", status.CancelledSurvivors, steps.Describe(s, step).Message)
			}
		})
	}
}

// As TestTheRecordOfRestoresIsCompletedIfTheStatusIsLost, but "right" was deleted by spec.ttlSecondsAfterFinished before the status was lost.
func TestAnOlderRestoreDoesNotReplaceTheDataOfOneThatIsGone(t *testing.T) {
	const day = 24 * time.Hour
	s := stateWith(members(3), storage("3.6.0"))
	for i := range s.Members {
		s.Members[i].Name, s.Members[i].Incarnation = state.MemberName(s.Name, s.UID, 2, i), 2
	}
	s.MembershipKnown, s.KnownVoters = true, nil
	servicesFor(2, seedID)(&s)
	s.Services.ClientRestoreUID = "uid-right"
	state.RecogniseFormed(&s)
	services.CorrectIncarnation(&s)
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{restoreOf("wrong", 4*day)})
	if s.Request != nil {
		t.Errorf("EtcdRestore wrong is taken up, although a restore of unknown age made the present data: %T", Plan(s))
	}
}

// The clock of the operator was ahead when the first recovery began. The second one begins "before" it. A status from between knows the later time, so
// the marks of the second recovery are not newer.
func TestARecoveryBeginsAfterTheOneBeforeIt(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, withoutPod, volume(state.VolumeLost)), with(2, withoutPod, volume(state.VolumeLost)))
	for i := range s.Members {
		s.Members[i].VolumeCreated, s.Members[i].UnreadySince = noon.Add(-time.Hour), noon.Add(-time.Hour)
	}
	ahead := metav1.NewTime(noon.Add(10 * time.Hour)) // the clock was ahead a day ago
	between := v1beta2.EtcdClusterStatus{LastRecovery: &v1beta2.PastRecovery{Member: nameOf(4), StartedAt: ahead}}
	s.LastRecovery = between.LastRecovery.DeepCopy()
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is {
		t.Fatalf("%+v", Plan(s))
	}
	status := between
	doer(&s, &status)(begin)
	markAll(&s)
	old := stateWith(formed, members(3), noQuorum, recorded, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod))
	old.LastRecovery = &v1beta2.PastRecovery{Member: nameOf(4), StartedAt: ahead}
	for i := range old.Members {
		old.Members[i].VolumeCreated, old.Members[i].Recovered, old.Members[i].RecoveredAt = noon.Add(-time.Hour), s.Members[i].Recovered, s.Members[i].RecoveredAt
	}
	if started := starts(old); len(started) > 1 {
		t.Errorf("with the status from before, %v start; the recovery began at %s, and the one before it at %s", started, status.Recovery.StartedAt, ahead)
	}
}
