package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// As TestARecoveryPassesOverNoMarkedDataThatTheStatusDoesNotExplain, but the marked member is the first one by name, as in one cluster of four: names are
// hashes. A rule that filtered members in place wiped that one out of the State. So no later rule saw the newest data, and the recovery began from old
// data.
func TestARecoveryPassesOverNoMarkedDataIfItsMemberIsTheFirstByName(t *testing.T) {
	for name, test := range map[string]struct {
		at  time.Time // of the mark
		pod state.PodState
	}{
		"mark without a time, runs":   {time.Time{}, state.PodRunning},
		"mark without a time, no Pod": {time.Time{}, state.PodNone},
		"mark newer than the status":  {noon.Add(-time.Hour), state.PodRunning},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(4), noQuorum, consenting)
			slices.SortFunc(s.Members, func(a, b state.Member) int { return strings.Compare(a.Name, b.Name) }) // as observe does
			newest, old := s.Members[0].Name, s.Members[3].Name
			s.KnownVoters = []string{s.Members[1].Name, s.Members[2].Name, old} // of the old status
			gone(&s.Members[1])
			gone(&s.Members[2])
			for i, index := range map[int]uint64{0: 100, 3: 42} {
				with(i, pod(state.PodRunning))(&s)
				s.Members[i].RaftIndex, s.Members[i].UnreadySince = index, noon.Add(-time.Hour)
				s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
			}
			s.Members[0].Recovered, s.Members[0].RecoveredAt = true, test.at
			if test.pod == state.PodNone {
				with(0, withoutPod)(&s)
			}
			before := slices.Clone(s.Members)
			step := Plan(s)
			if !reflect.DeepEqual(before, s.Members) {
				t.Errorf("Plan has changed State.Members: the first one was %q, and is %q", before[0].Name, s.Members[0].Name)
			}
			begin, begins := step.(steps.BeginRecovery)
			if !begins {
				return
			}
			t.Errorf("the recovery begins from %s at index %d. Member %s has data at index 100, and no person has decided about it", begin.Member, begin.RaftIndex, newest)
			// What follows, pass by pass, with what observe sees.
			var status v1beta2.EtcdClusterStatus
			for pass := range 6 {
				status = NewStatus(s, step, nil, status, 1)
				s.Members = slices.Clone(before)
				if remove, is := step.(steps.DeletePod); is {
					i := slices.IndexFunc(before, func(m state.Member) bool { return m.Name == remove.Name })
					withoutPod(&before[i])
					withoutPod(&s.Members[i])
				}
				s.Recovery, s.LastRecovery = status.Recovery.DeepCopy(), status.LastRecovery.DeepCopy()
				step = Plan(s)
				t.Logf("pass %d: %T %+v", pass, step, step)
				if create, is := step.(steps.CreateMember); is && create.Start == state.StartForce {
					t.Errorf("member %s starts with --force-new-cluster at index 42, and %s was stopped at index 100", create.Name, newest)
					return
				}
			}
		})
	}
}

// The same with other members: a question to State must not change it.
func TestPlanChangesNoMembers(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, recorded)
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
	}
	for i := range 2 {
		with(i, pod(state.PodStarting))(&s)
		s.Members[i].Recovered, s.Members[i].RecoveredAt = true, noon.Add(-time.Hour)
	}
	with(2, pod(state.PodRunning))(&s)
	before := slices.Clone(s.Members)
	lost := recovery.QuorumLost(s)
	if !reflect.DeepEqual(before, s.Members) {
		t.Errorf("QuorumLost (%t) has changed State.Members from %v to %v; the next step is %s", lost, state.MemberNames(before), state.MemberNames(s.Members), steps.Describe(s, Plan(s)).Message)
	}
}

// A recovery from 0 is cancelled at t1, after 0 had started alone. Its volume comes back, and the status asks a person to accept it: "<UID>@t1". The
// person does. Before 0 starts, its volume is lost again. At t2 the cluster continues from 1, by consent, and grows: the claim of 0 is marked at t2. The
// volume of 0 comes back. The consent of t1 counts: when the members do not answer for a second, 0 starts, whose data is a cluster of its own from before
// t2, and is a quorum of itself.
func TestAConsentFromBeforeALaterRecoveryDoesNotAcceptACancelledSurvivor(t *testing.T) {
	s := fiveBefore(with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	status := statusOf(s)
	do := doer(&s, &status)
	cancelledFrom(t, &s, do, 0)
	s.KnownVoters = votersIn(status)
	// The volume of 0 is there again.
	s.Now = noon.Add(time.Hour)
	with(1, pod(state.PodRunning), knows(41, 3))(&s)
	s.Members[1].UnreadySince = noon.Add(-time.Hour)
	with(0, volume(state.VolumePresent))(&s)
	asked := steps.Describe(s, Plan(s)).Message
	token := state.TokenOf(s, s.Members[0])
	if !strings.Contains(asked, v1beta2.AnnotationAcceptVolumes+"="+token) {
		t.Fatalf("the status does not ask for %s: %T %s", token, Plan(s), asked)
	}
	s.Asked.AcceptVolumes = []string{token} // a person does what the status says
	// The volume of 0 is lost again, and the recovery continues from 1.
	with(0, volume(state.VolumeLost))(&s)
	s.Now = noon.Add(2 * time.Hour)
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(1) {
		t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	do(begin)
	with(1, withoutPod)(&s)
	markAll(&s)
	do(steps.RecordForcing{Member: nameOf(1)})
	do(steps.RecordForced{Revision: 7})
	if m := s.Members[0]; !m.Recovered || !m.RecoveredAt.Equal(status.Recovery.StartedAt.Time) {
		t.Fatalf("the claim of 0 is not marked: %+v", m)
	}
	// 1 has grown to 1, 5 and 6, and clients write. All nodes restart, and the volume of 0 is there again.
	with(0, volume(state.VolumePresent))(&s)
	for i := 5; i < 7; i++ {
		with(i, onVolume, withoutPod, func(m *state.Member) { m.VolumeCreated = noon.Add(3 * time.Hour) })(&s)
	}
	s.Now = noon.Add(4 * time.Hour)
	s.KnownVoters = []string{nameOf(1), nameOf(5), nameOf(6)}
	if started := starts(s); slices.Contains(started, nameOf(0)) {
		t.Errorf("0 starts beside %v with its data of before %s, by a consent of before that: the token is %s, and the mark on its claim is of %s",
			s.KnownVoters, status.Recovery.StartedAt.UTC(), state.TokenOf(s, s.Members[0]), s.Members[0].RecoveredAt.UTC())
		if deleted := aloneFrom(t, s, 0); len(deleted) > 0 {
			t.Errorf("0 serves alone, and the operator deletes %v, which have all writes since %s", deleted, status.Recovery.StartedAt.UTC())
		}
	}
}

// As above without the early consent. Two of the three members since t2 lose their volumes. The status then says that the claim of 0 is not the one that 0
// served on, which is false, and to accept it "if they are the same disks", which is true. 0 serves alone as it was before t2, and the data of 1, with
// all that clients wrote since t2, is deleted.
func TestTheStatusDoesNotAdviseToReturnToACancelledSurvivor(t *testing.T) {
	s := fiveBefore(with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	status := statusOf(s)
	do := doer(&s, &status)
	cancelledFrom(t, &s, do, 0)
	s.KnownVoters = votersIn(status)
	s.Now = noon.Add(2 * time.Hour)
	with(1, pod(state.PodRunning), knows(41, 3))(&s)
	s.Members[1].UnreadySince = noon.Add(-time.Hour)
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(1) {
		t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	do(begin)
	with(1, withoutPod)(&s)
	markAll(&s)
	do(steps.RecordForcing{Member: nameOf(1)})
	do(steps.RecordForced{Revision: 7})
	with(0, volume(state.VolumePresent))(&s)
	for i := 5; i < 7; i++ {
		with(i, onVolume, withoutPod, volume(state.VolumeLost), func(m *state.Member) { m.VolumeCreated = noon.Add(3 * time.Hour) })(&s)
	}
	s.Now = noon.Add(4 * time.Hour)
	s.KnownVoters = []string{nameOf(1), nameOf(5), nameOf(6)}
	with(1, pod(state.PodRunning), knows(900, 9))(&s)
	s.Members[1].UnreadySince = noon.Add(3 * time.Hour)
	said := steps.Describe(s, Plan(s)).Message
	t.Log(said)
	if !strings.Contains(said, "same disks under other names") {
		return
	}
	if was, _ := state.ServedOn(s, s.Members[0]); was.Same(s.Members[0].VolumeID) {
		t.Errorf("the claim of 0 is the one that it served on, and the status says that it is not, and advises to accept it: %s", said)
	}
	s.Asked.AcceptVolumes = state.Tokens(s, state.Others(s))
	started := starts(s)
	t.Logf("after that, %v start", started)
	if !slices.Contains(started, nameOf(0)) {
		return
	}
	if deleted := aloneFrom(t, s, 0); slices.Contains(deleted, nameOf(1)) {
		t.Errorf("0 serves alone as it was before the recovery from 1. The operator deletes the volume of 1, with all writes since: %v", deleted)
	}
}

// aloneFrom lets member i serve alone, and returns the volumes that the operator then deletes.
func aloneFrom(t *testing.T, s state.State, i int) (deleted []string) {
	t.Helper()
	s.Members = slices.Clone(s.Members)
	with(i, voter)(&s)
	s.Members[i].Leader, s.MembershipKnown, s.Spec.Size = true, true, 1 // or when it has grown
	s.KnownVoters = []string{s.Members[i].Name}
	for range 30 {
		step := Plan(s)
		t.Logf("%T %+v", step, step)
		at := func(name string) int {
			return slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == name })
		}
		switch step := step.(type) {
		case steps.DeletePod:
			withoutPod(&s.Members[at(step.Name)])
		case steps.ApplyBudget:
			s.Budget = budgetOf(state.MinAvailable(s))
		case steps.UnmarkVolume:
			s.Members[at(step.Name)].Recovered, s.Members[at(step.Name)].RecoveredAt = false, time.Time{}
		case steps.SetAsideVolume:
			s.Members = slices.Delete(s.Members, at(step.Name), at(step.Name)+1)
		case steps.DeleteVolume:
			deleted = append(deleted, step.Name)
			s.Members = slices.Delete(s.Members, at(step.Name), at(step.Name)+1)
		case steps.CompleteRecovery:
			s.Recovery.Step = v1beta2.RecoveryComplete
		default:
			return deleted
		}
	}
	return deleted
}

// The claims of 1 and 2 are marked, and the operator ends before it can record that, or the status cannot be written, because the spec was changed at
// that time. The volumes are there again, and the recovery is cancelled. To the operator this looks like an old status of a recovery that was carried out, and
// then these members would serve an old history. So it starts none of them, and the person who is asked gets the whole cluster back.
func TestAPersonDecidesAboutMarksOfARecoveryThatWasCancelledBeforeItWasRecorded(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, withoutPod, volume(state.VolumeLost)), with(2, withoutPod, volume(state.VolumeLost)))
	for i := range s.Members {
		s.Members[i].VolumeCreated, s.Members[i].UnreadySince = noon.Add(-24*time.Hour), noon.Add(-time.Hour)
	}
	status := statusOf(s)
	do := doer(&s, &status)
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is {
		t.Fatalf("%T", Plan(s))
	}
	do(begin)
	with(0, withoutPod)(&s)
	if _, is := Plan(s).(steps.RecordForcing); !is {
		t.Fatalf("%T", Plan(s))
	}
	markAll(&s) // and the operator is killed
	s.Now = noon.Add(time.Minute)
	with(1, volume(state.VolumePresent))(&s)
	with(2, volume(state.VolumePresent))(&s)
	cancel, is := Plan(s).(steps.CancelRecovery)
	if !is {
		t.Fatalf("%T", Plan(s))
	}
	if !strings.Contains(cancel.Message, "are marked") {
		t.Errorf("the cancellation does not say that volumes are marked: %s", cancel.Message)
	}
	do(cancel)
	s.KnownVoters = votersIn(status)
	if started := starts(s); !slices.Equal(started, []string{nameOf(0)}) {
		t.Errorf("%v start, and the operator cannot know whether the cluster went on without 1 and 2", started)
	}
	with(0, pod(state.PodRunning))(&s)
	tokens := state.Tokens(s, s.Members[1:])
	if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, v1beta2.AnnotationAcceptVolumes+"="+strings.Join(tokens, ",")) {
		t.Errorf("a person does not learn what to do: %s", said)
	}
	s.Asked.AcceptVolumes = tokens
	with(0, withoutPod)(&s)
	if started := starts(s); len(started) < 3 {
		t.Errorf("after that, only %v start", started)
	}
}

// The status is lost, the EtcdRestore that made the incarnation is gone, and 20 others are there, complete (one a night). Each pass drops entries of the
// record and learns them again, so the record never settles. The entry of the one that is gone gets a new time again and again, so an EtcdRestore that
// a person creates afterwards is refused as older.
func TestTheRecordOfManyRestoresSettlesIfTheStatusIsLost(t *testing.T) {
	const day = 24 * time.Hour
	s := stateWith(members(3), storage("3.6.0"))
	for i := range s.Members {
		s.Members[i].Name, s.Members[i].Incarnation = state.MemberName(s.Name, s.UID, 2, i), 2
	}
	s.MembershipKnown, s.KnownVoters = true, nil
	servicesFor(2, seedID)(&s)
	s.Services.ClientRestoreUID = "uid-gone"
	state.RecogniseFormed(&s)
	services.CorrectIncarnation(&s)
	var restores []v1beta2.EtcdRestore
	for i := range 30 {
		restores = append(restores, restoreOf(fmt.Sprintf("night-%d", i), time.Duration(100-i)*day, withCondition(v1beta2.ConditionComplete)))
	}
	var status v1beta2.EtcdClusterStatus
	changed := 0
	pass := func(extra ...v1beta2.EtcdRestore) state.State {
		one := s
		one.Restore, one.PastRestores = s.Restore.DeepCopy(), slices.Clone(state.WithEarlier(status.PastRestores, s.Restore, time.Time{}))
		restore.ChooseRestore(&one, append(slices.Clone(restores), extra...))
		before := status.PastRestores
		status = NewStatus(one, steps.Done{}, nil, status, 1)
		s.Restore = status.Restore.DeepCopy()
		if !reflect.DeepEqual(before, status.PastRestores) {
			changed++
		}
		s.Now = s.Now.Add(time.Minute)
		return one
	}
	for range 20 {
		pass()
	}
	if changed > 2 {
		t.Errorf("the record has changed in %d of 20 passes in which nothing happened", changed)
	}
	created := s.Now
	wanted := restoreOf("wanted", noon.Sub(created), func(r *v1beta2.EtcdRestore) { r.CreationTimestamp = metav1.NewTime(created) })
	s.Now = s.Now.Add(time.Second)
	for i := range 10 { // restore-operator proves the snapshot meanwhile
		one := pass()
		if why := v1beta2.RefuseRestore(one.ClusterID, status.PastRestores, &wanted); why != "" {
			t.Fatalf("an EtcdRestore that a person creates after all of this is refused %d passes later: %s", i+1, why)
		}
	}
}

// 0 was the survivor of a recovery that was cancelled, and its volume is gone for good. The cluster continues from 1 and grows: 0 is the first free name. Its
// new claim gets a PersistentVolume of the same name, as static provisioners of local disks name it by node and disk, or it looks older than the
// recovery, because the clock of the operator was ahead. The volume of the learner that joins is set aside under it. It becomes a voter, and after a day its
// claim is deleted.
func TestTheVolumeOfANewMemberWithTheNameOfACancelledSurvivorIsItsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		volume  string
		created time.Time
	}{
		"local disk of the same name": {"local-pv-1", noon.Add(-time.Minute)},
		"clock was ahead":             {"pv-new", noon.Add(-2 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(3), with(2, learner), func(s *state.State) { s.KnownVoters = s.KnownVoters[:2] }, recorded, storage("3.6.0"))
			delete(s.KnownVolumes, nameOf(2))
			s.Members[2].VolumeID.Volume, s.Members[2].VolumeCreated = test.volume, test.created
			s.Members[2].AppliedIndex = 1
			s.CancelledSurvivors = []v1beta2.CancelledSurvivor{{Member: nameOf(2), VolumeName: "local-pv-1", StartedAt: metav1.NewTime(noon.Add(-time.Hour))}}
			step := Plan(s)
			if step != (steps.SetAsideVolume{Name: nameOf(2)}) {
				return
			}
			t.Errorf("the volume of a learner that joins is set aside: %s", steps.Describe(s, step).Message)
			s.Members[2].Volume, s.Members[2].VolumeID, s.Members[2].VolumeCreated = state.VolumeNone, state.VolumeID{}, time.Time{}
			s.SetAside = []state.SetAside{{Name: nameOf(2), Since: noon.Add(-25 * time.Hour)}}
			step = Plan(s)
			t.Logf("then: %T %s", step, steps.Describe(s, step).Message)
			with(2, voter)(&s)
			s.Members[2].Volume, s.Members[2].Learner = state.VolumeNone, false
			early := s
			early.SetAside = []state.SetAside{{Name: nameOf(2), Since: noon.Add(-time.Hour)}}
			t.Logf("until then: %T %s", Plan(early), steps.Describe(early, Plan(early)).Message)
			step = Plan(s)
			if del, is := step.(steps.DeleteVolume); is && del.Name == nameOf(2) {
				t.Errorf("and a day later deleted, while the voter runs on it: %s", steps.Describe(s, step).Message)
			} else {
				t.Logf("a day later: %T %s", step, steps.Describe(s, step).Message)
			}
		})
	}
}

// A volume was set aside, and a member runs on it, whatever came before. If its time is over, its claim would be deleted under the voter.
func TestAVolumeThatAMemberRunsOnIsNotDeletedAlthoughItWasSetAside(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), with(2, volume(state.VolumeNone)))
	s.Members[2].VolumeID, s.Members[2].VolumeCreated = state.VolumeID{}, time.Time{}
	s.SetAside = []state.SetAside{{Name: nameOf(2), Since: noon.Add(-25 * time.Hour)}}
	if step, deletes := Plan(s).(steps.DeleteVolume); deletes {
		t.Errorf("%+v", step)
	}
	if cause := steps.LeavingCause(s, s.Members[2]); cause != state.CauseVolumeAside {
		t.Errorf("the member is not replaced while it serves: %q; the plan is %T", cause, Plan(s))
	}
}
