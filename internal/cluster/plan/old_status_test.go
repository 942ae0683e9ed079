package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A year ago a migration of the storage gave the claims of 1 and 2 other names of volumes. A person accepted them, as the status asked, and the
// annotation stayed, as the manual lets it. Now the storage of 1 and 2 is lost, and the cluster continues from 0, as the spec consents. Then the
// storage comes back. The next time that 0 does not answer for a second (the operator itself restarts it without the flag), 1 and 2 start with the
// membership from before, and are a quorum.
func TestAnAcceptanceFromBeforeARecoveryDoesNotCountAfterIt(t *testing.T) {
	old := func(s *state.State) {
		for i := range s.Members {
			s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
			s.Asked.AcceptVolumes = append(s.Asked.AcceptVolumes, "claim-of-"+nameOf(i)) // a year ago
		}
	}
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, old, with(0, knows(42, 3)), with(1, withoutPod, volume(state.VolumeLost)), with(2, withoutPod, volume(state.VolumeLost)))
	step := Plan(s)
	if _, is := step.(steps.BeginRecovery); !is {
		t.Fatalf("no recovery begins: %T %s", step, steps.Describe(s, step).Message)
	}
	status := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
	s.Recovery = status.Recovery
	status = NewStatus(s, steps.RecordForcing{Member: nameOf(0)}, nil, status, 1)
	s.Recovery = status.Recovery
	status = NewStatus(s, steps.RecordForced{Revision: 7}, nil, status, 1)
	for name, marked := range map[string]bool{"marked": true, "not marked": false} {
		t.Run(name, func(t *testing.T) {
			after := stateWith(formed, members(3), noQuorum, consenting, recorded, old, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod))
			after.Recovery, after.KnownVoters = status.Recovery.DeepCopy(), []string{nameOf(0)}
			after.Members[1].Recovered, after.Members[2].Recovered = marked, marked
			if after.Recovery.Step != v1beta2.RecoveryGrowing {
				t.Fatalf("the recovery is at %s", after.Recovery.Step)
			}
			onlyTheSurvivorStarts(t, after)
		})
	}
}

// As TestAMarkedVolumeStartsNoMemberAlthoughTheStatusIsLost, but the status is an old one instead of lost: it is from before the recovery, so it
// has 1 and 2 as voters. The marks on their volumes are not looked at.
func TestAMarkedVolumeStartsNoMemberIfTheStatusIsFromBeforeTheRecovery(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), recoveredBefore)
	s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)} // from before the recovery
	startsOld(t, s)
	// 0 runs, has grown, and says that 1 and 2 are no members.
	s = stateWith(formed, members(4), noQuorum, with(0, pod(state.PodRunning)), with(1, withoutPod), with(2, withoutPod), with(3, pod(state.PodStarting)), recoveredBefore)
	s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)}
	s.Members[0].Answers, s.Members[0].ID, s.Members[0].AppliedIndex = true, 1, 100
	s.Members[0].Knows = []etcd.Member{{ID: 1, Name: nameOf(0)}, {ID: 4, Name: nameOf(3), PeerURLs: []string{peerURLOf(3)}}}
	recovery.HearWitness(&s)
	startsOld(t, s)
}

// The claims of 1 and 2 are Lost when the survivor is about to start alone: the most frequent cause of a lost quorum. No mark is written on them. The
// status is lost later, and the PersistentVolumes come back: the same claims are Bound again. 0 does not answer for a second.
func TestALostClaimIsMarkedByARecovery(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, withoutPod), with(1, withoutPod, volume(state.VolumeLost)), with(2, withoutPod, volume(state.VolumeLost)))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)}}
	marked := volumes.ReplacedByRecovery(s)
	if want := []string{nameOf(1), nameOf(2)}; !slices.Equal(marked, want) {
		t.Errorf("the claims to mark are %v, want %v", marked, want)
	}
	s = stateWith(formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod))
	s.KnownVoters, s.KnownIDs, s.KnownVolumes = nil, nil, nil // the status is lost
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		s.Members[i].VolumeID = state.VolumeID{Claim: types.UID("claim-of-" + nameOf(i)), Volume: "pv-of-" + nameOf(i)}
		s.Members[i].Recovered = slices.Contains(marked, nameOf(i))
	}
	startsOld(t, s)
}

// A foreign voter leads. Member 2 is cut off from its peers, and the operator reaches it: it reports a fence that a quorum has taken back since.
// The operator takes the fence back in each pass without an end, and no rule after that is asked: member 2 is never replaced.
func TestAStaleFenceOfAMemberThatIsCutOffHoldsUpNothing(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), foreignVoters(1))
	for i := range s.Members {
		s.Members[i].Leader = false // the foreign voter leads
	}
	with(2, func(m *state.Member) {
		m.Serving, m.PodReady, m.UnreadySince = false, false, noon.Add(-24*time.Hour)
		m.Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: state.ReadOnlyFence(s)}}
	})(&s)
	step := Plan(s)
	if unfence, is := step.(steps.UnfenceWrites); is {
		t.Errorf("fence %s is taken back again in %s, although the members that serve report none", unfence.ID, steps.Describe(s, step).Requeue)
	}
}

// An API backup brings back a status from before the restore "right", or the status is lost. The client Service says that "right" made the present
// incarnation, and its EtcdRestore is there, complete. But the record of restores that were carried out stays empty. So an older EtcdRestore that
// waited for its Secret replaces all data that was written since, and so does "right" itself when GitOps creates it again.
func TestTheRecordOfRestoresIsCompletedIfTheStatusIsLost(t *testing.T) {
	const day = 24 * time.Hour
	lost := stateWith(members(3), storage("3.6.0"))
	old := stateWith(formed, members(3), storage("3.6.0")) // incarnation 1
	for name, s := range map[string]state.State{"lost": lost, "old": old} {
		for i := range s.Members {
			s.Members[i].Name, s.Members[i].Incarnation = state.MemberName(s.Name, s.UID, 2, i), 2
		}
		s.MembershipKnown, s.KnownVoters = true, nil
		servicesFor(2, seedID)(&s)
		s.Services.ClientRestoreUID = "uid-right"
		state.RecogniseFormed(&s)
		services.CorrectIncarnation(&s)
		if s.Restore == nil || s.Restore.UID != "uid-right" || s.Incarnation != 2 {
			t.Fatalf("%s: the restore is not recognised: %+v in incarnation %d", name, s.Restore, s.Incarnation)
		}
		right := restoreOf("right", 3*day, withCondition(v1beta2.ConditionComplete))
		wrong := restoreOf("wrong", 4*day)
		first := s
		first.Restore = s.Restore.DeepCopy()
		restore.ChooseRestore(&first, []v1beta2.EtcdRestore{wrong, right})
		if first.Request != nil {
			t.Errorf("%s: EtcdRestore %s is taken up, and %s is newer and was carried out: %T", name, first.Request.Name, right.Name, Plan(first))
		}
		only := s
		only.Restore = s.Restore.DeepCopy()
		restore.ChooseRestore(&only, []v1beta2.EtcdRestore{right})
		status := NewStatus(only, steps.CompleteRestore{}, nil, v1beta2.EtcdClusterStatus{}, 1)
		next := stateWith(formed, members(3), storage("3.6.0"))
		next.Restore, next.PastRestores = status.Restore, status.PastRestores
		restore.ChooseRestore(&next, []v1beta2.EtcdRestore{restoreOf("right", time.Minute, recreated)})
		if next.Request != nil {
			t.Errorf("%s: EtcdRestore right is carried out again after it was created again: %T; the record is %+v", name, Plan(next), status.PastRestores)
		}
	}
}

// Three of five PersistentVolumes are deleted, and the cluster recovers from 0 by consent. 0 has started with --force-new-cluster, so its data is a
// cluster of its own. Before the operator records that it serves alone, its PersistentVolume is deleted, too, and the recovery is cancelled. Then the
// PersistentVolumes are there again. 1 to 4 start, and are a quorum of the membership from before. 0 starts beside them, and is a quorum of its own,
// with the same cluster ID, behind the same Service.
func TestASurvivorThatWasForcedDoesNotStartAfterItsRecoveryWasCancelled(t *testing.T) {
	s := stateWith(formed, members(5), size(5), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, knows(41, 3)), with(2, withoutPod, volume(state.VolumeLost)), with(3, withoutPod, volume(state.VolumeLost)), with(4, withoutPod, volume(state.VolumeLost)))
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		s.Members[i].UnreadySince = noon.Add(-time.Hour)
	}
	var status v1beta2.EtcdClusterStatus
	for _, m := range s.Members {
		status.MemberStatuses = append(status.MemberStatuses, v1beta2.MemberStatus{Name: m.Name, Role: v1beta2.MemberVoter, VolumeClaimUID: m.VolumeID.Claim, VolumeName: m.VolumeID.Volume})
	}
	did := func(step steps.Step) {
		status = NewStatus(s, step, nil, status, 1)
		s.Recovery, s.LastRecovery, s.CancelledSurvivors = status.Recovery.DeepCopy(), status.LastRecovery.DeepCopy(), slices.Clone(status.CancelledSurvivors)
	}
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(0) {
		t.Fatalf("the recovery does not begin from 0: %+v", Plan(s))
	}
	did(begin)
	with(0, withoutPod)(&s)
	with(1, withoutPod)(&s)
	if step, is := Plan(s).(steps.RecordForcing); !is {
		t.Fatalf("%T", step)
	}
	did(steps.RecordForcing{Member: nameOf(0)})
	if create, is := Plan(s).(steps.CreateMember); !is || create.Start != state.StartForce {
		t.Fatalf("%+v", Plan(s))
	}
	with(0, volume(state.VolumeLost))(&s) // and its Pod was evicted, after etcd had run with the flag
	cancel, is := Plan(s).(steps.CancelRecovery)
	if !is {
		t.Fatalf("%+v", Plan(s))
	}
	did(cancel)
	s.KnownVoters = nil
	for _, m := range status.MemberStatuses {
		s.KnownVoters = append(s.KnownVoters, m.Name)
	}
	for i := range s.Members { // all PersistentVolumes are there again
		with(i, volume(state.VolumePresent))(&s)
		s.Members[i].Recovered = i == 1 // it was there when the survivor was about to start
	}
	started := map[string]bool{}
	for range 8 {
		create, is := Plan(s).(steps.CreateMember)
		if !is {
			break
		}
		started[create.Name] = true
		i := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == create.Name })
		with(i, pod(state.PodStarting))(&s)
	}
	if started[nameOf(0)] || len(started) < 3 {
		t.Errorf("%d members start, and survivor %s, whose data may be a cluster of its own: %t; the last recovery is %+v", len(started), nameOf(0), started[nameOf(0)], status.CancelledSurvivors)
	}
	// Who accepted the claim years ago did not know of this recovery.
	survivor := s.Members[0]
	survivor.VolumeID.Claim = "claim"
	for token, accepted := range map[string]bool{"claim": false, "claim@" + status.LastRecovery.StartedAt.UTC().Format(time.RFC3339): true} {
		s.Asked.AcceptVolumes = []string{token}
		if state.OnAnotherVolume(s, survivor) == accepted {
			t.Errorf("%s accepts the claim: %t, want %t", token, !accepted, accepted)
		}
	}
	quorum := stateWith(formed, members(5), size(5), recorded, with(0, withoutPod, func(m *state.Member) { m.Serving = false }))
	quorum.CancelledSurvivors = status.CancelledSurvivors
	quorum.Members[0].VolumeCreated = noon.Add(-24 * time.Hour)
	step := Plan(quorum)
	if said := steps.Describe(quorum, step).Message; step != (steps.SetAsideVolume{Name: nameOf(0)}) || !strings.Contains(said, state.CauseVolumeForced) {
		t.Errorf("with a quorum of the others, the step is %T: %s", step, said)
	}
}
