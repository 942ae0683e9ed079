package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// copied: a person created the claim of a member again, for example from a VolumeSnapshot.
func copied(m *state.Member) {
	m.Volume, m.VolumeID = state.VolumePresent, state.VolumeID{Claim: types.UID("copy-of-" + m.Name), Volume: "pv-copy-of-" + m.Name}
}

// Two of three volumes were lost, and the user created one of the claims again from a snapshot that is some hours old. The voter started
// under its old identity. With a second such voter it elected a leader that had never heard of the newest writes, and they were lost.
func TestAMemberDoesNotStartOnACopyOfItsVolume(t *testing.T) {
	lost := []change{formed, members(3), recorded, noQuorum, with(1, withoutPod), with(2, gone)}
	same := stateWith(append(lost, with(1, func(m *state.Member) { m.VolumeID.Claim = "again-for-the-same-volume" }))...)
	if step := Plan(same); step != (steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("a claim for the same PersistentVolume: %T %+v", step, step)
	}
	s := stateWith(append(lost, with(1, copied))...)
	wait, is := Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, "1 of 3 voters have their data") || !strings.Contains(wait.Message, nameOf(1)) {
		t.Fatalf("a copy: %T %+v", Plan(s), Plan(s))
	}
	if strings.Contains(wait.Message, v1beta2.AnnotationAcceptVolumes) {
		t.Errorf("the status offers the copies although member 0 has its data: %s", wait.Message)
	}
}

// Two of three disks got other names in a migration of storage while the cluster hibernated. The consent to continue without lost members was
// there before, and writes that only these two members had were lost.
func TestAConsentIsNotAboutVolumesThatMayBeTheSameDisks(t *testing.T) {
	s := stateWith(formed, members(3), recorded, noQuorum, consenting, with(0, knows(1000, 7), unreadyFor(2*state.StartGrace)), with(1, withoutPod, copied), with(2, withoutPod, copied))
	wait, is := Plan(s).(steps.Wait)
	want := v1beta2.AnnotationAcceptVolumes + "=copy-of-" + nameOf(1) + ",copy-of-" + nameOf(2)
	if !is || !wait.Stalled || !strings.Contains(wait.Message, want) || !strings.Contains(wait.Message, "delete these") {
		t.Fatalf("%T %+v", Plan(s), Plan(s))
	}
	accepted := s
	accepted.Asked.AcceptVolumes = []string{"copy-of-" + nameOf(1), "copy-of-" + nameOf(2)}
	if step := Plan(accepted); step != (steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("accepted: %T %+v", step, step)
	}
	gone(&s.Members[1])
	gone(&s.Members[2])
	if step, is := Plan(s).(steps.BeginRecovery); !is || step.Member != nameOf(0) {
		t.Errorf("deleted: %T %+v", Plan(s), Plan(s))
	}
}

// While no node has the Pod of a member, Kubernetes lets its claim be deleted. The Pod then starts on the next claim of that name, and a
// member that runs counts as one with data.
func TestAPodThatHasNotStartedDoesNotStartOnACopy(t *testing.T) {
	for name, p := range map[string]func(*state.Member){
		"starting":            pod(state.PodStarting),
		"finds no node":       blockedBy(v1beta2.ReasonPodUnschedulable),
		"cannot get an image": blockedBy(v1beta2.ReasonImageUnavailable),
	} {
		for quorum, change := range map[string]change{"with a quorum": func(*state.State) {}, "without a quorum": noQuorum} {
			s := stateWith(formed, members(3), recorded, change, with(1, p, copied))
			if stop, is := Plan(s).(steps.DeletePod); !is || stop.Name != nameOf(1) {
				t.Errorf("%s, a Pod that is %s: %T %+v", quorum, name, Plan(s), Plan(s))
			}
			s.Asked.AcceptVolumes = []string{"copy-of-" + nameOf(1)}
			if stop, is := Plan(s).(steps.DeletePod); is && stop.Name == nameOf(1) && quorum == "without a quorum" && name == "starting" {
				t.Errorf("the copy is accepted: %+v", stop)
			}
			s.Asked.AcceptVolumes, s.Members[1].Ran = nil, true
			if stop, is := Plan(s).(steps.DeletePod); is && stop.Name == nameOf(1) && name == "finds no node" {
				t.Errorf("%s, the Pod has run, and may have the only copy: %+v", quorum, stop)
			}
		}
	}
}

func TestIfOnlyCopiesAreLeftTheUserCanAcceptThem(t *testing.T) {
	s := stateWith(formed, members(3), recorded, noQuorum, with(0, withoutPod, copied), with(1, withoutPod, copied), with(2, gone))
	wait, is := Plan(s).(steps.Wait)
	want := v1beta2.AnnotationAcceptVolumes + "=copy-of-" + nameOf(0) + ",copy-of-" + nameOf(1)
	if !is || !strings.Contains(wait.Message, want) {
		t.Fatalf("the status does not say how: %T %+v", Plan(s), Plan(s))
	}
	s.Asked = state.NewAsked(map[string]string{v1beta2.AnnotationAcceptVolumes: "copy-of-" + nameOf(0) + ", copy-of-" + nameOf(1)})
	if step := Plan(s); step != (steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("with the consent: %T %+v", step, step)
	}
	s.Members[0].VolumeID.Claim = "copied once more"
	if step := Plan(s); step != (steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("the consent is about another copy of member 0: %T %+v", step, step)
	}
}

func TestWithAQuorumACopyIsKeptAndItsMemberReplaced(t *testing.T) {
	copies := with(2, withoutPod, copied, func(m *state.Member) { m.Answers = false })
	for name, accept := range map[string]string{"without consent": "", "also with consent, because the others have all data": "copy-of-" + nameOf(2)} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(3), recorded, copies)
			s.Asked.AcceptVolumes = []string{accept}
			aside := steps.SetAsideVolume{Name: nameOf(2)}
			if step := Plan(s); step != aside {
				t.Fatalf("first %T %+v", step, step)
			}
			refused := s
			Refuse(&refused, aside)
			if wait, is := Plan(refused).(steps.Wait); !is || wait.Reason != v1beta2.ReasonAnotherVolume {
				t.Errorf("if that is refused, %T %+v: the volume would be deleted later", Plan(refused), Plan(refused))
			}
			s.SetAside = []state.SetAside{{Name: nameOf(2), Since: noon}}
			s.Members[2].Volume, s.Members[2].VolumeID = state.VolumeNone, state.VolumeID{}
			s.Removing = nameOf(2)
			if step, is := Plan(s).(steps.RemoveMember); !is || step.Name != nameOf(2) || !step.DataGone() {
				t.Errorf("then %T %+v", Plan(s), Plan(s))
			}
		})
	}
}

func TestAMemberThatRunsBesideACopyIsReplacedFirst(t *testing.T) {
	s := stateWith(formed, members(3), recorded, with(1, copied))
	if step := Plan(s); step != (steps.SetAsideVolume{Name: nameOf(1)}) {
		t.Fatalf("%T %+v", step, step)
	}
	s.SetAside = []state.SetAside{{Name: nameOf(1), Since: noon}}
	s.Members[1].Volume, s.Members[1].VolumeID = state.VolumeNone, state.VolumeID{}
	if step, is := Plan(s).(steps.AddLearner); !is {
		t.Errorf("%T %+v: the next Pod of member 1 finds no volume", step, step)
	}
}

// TestVolumesThatAreTheSame are cases in which a member must go on.
func TestVolumesThatAreTheSame(t *testing.T) {
	for name, change := range map[string]change{
		"nothing is recorded, by an earlier release":      func(s *state.State) { s.KnownVolumes = nil },
		"the status was lost":                             func(s *state.State) { s.KnownVolumes, s.KnownIDs, s.KnownVoters = nil, nil, nil },
		"the claim was bound after the record":            func(s *state.State) { s.KnownVolumes[nameOf(0)] = state.VolumeID{Claim: s.Members[0].VolumeID.Claim} },
		"the claim was created again for the same volume": with(0, func(m *state.Member) { m.VolumeID.Claim = "again" }),
		"the record is of an earlier member of that name": func(s *state.State) {
			copied(&s.Members[0])
			s.KnownIDs = map[string]etcd.ID{nameOf(0): 0xdead}
		},
		"the claim is accepted, and the member runs on it": func(s *state.State) {
			copied(&s.Members[0])
			s.Asked.AcceptVolumes = []string{"copy-of-" + nameOf(0)}
		},
		"the members keep their data in their Pods, as asked": func(s *state.State) {
			inPods(s)
			ontoPods(s)
			for i := range s.Members {
				s.Members[i].Outdated = false
			}
		},
		"the cache has not seen the claim, and nothing recorded": func(s *state.State) {
			s.KnownVolumes = nil
			s.Members[0].Volume, s.Members[0].VolumeID = state.VolumeNone, state.VolumeID{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(formed, members(3), recorded)
			change(&s)
			s.Budget.MinAvailable = state.MinAvailable(s)
			if step := Plan(s); step != (steps.Done{}) {
				t.Errorf("%T %+v", step, step)
			}
		})
	}
}

func TestTheVolumeThatAMemberServesOnIsRecorded(t *testing.T) {
	record := func(s state.State, before v1beta2.EtcdClusterStatus) (types.UID, string, v1beta2.EtcdClusterStatus) {
		status := NewStatus(s, steps.Done{}, nil, before, 1)
		return status.MemberStatuses[0].VolumeClaimUID, status.MemberStatuses[0].VolumeName, status
	}
	claim, volume := types.UID("claim-of-"+nameOf(0)), "pv-of-"+nameOf(0)
	s := stateWith(formed, members(3), recorded)
	s.KnownVolumes = nil // as an earlier release leaves it
	uid, pv, status := record(s, v1beta2.EtcdClusterStatus{})
	if uid != claim || pv != volume {
		t.Fatalf("recorded %q, %q", uid, pv)
	}
	again := func(changes ...change) state.State {
		s := stateWith(append([]change{formed, members(3), recorded}, changes...)...)
		s.KnownVolumes = state.NewState(&v1beta2.EtcdCluster{Status: status}).KnownVolumes
		return s
	}
	for name, s := range map[string]state.State{
		"while it does not serve":              again(with(0, silent, copied)),
		"while nothing of it is left":          again(noQuorum, with(0, gone)),
		"while a copy lies beside it":          again(with(0, copied)),
		"while its claim is younger than Pods": again(with(0, copied, func(m *state.Member) { m.PodCreated, m.VolumeCreated = noon, noon.Add(1) })),
	} {
		if uid, pv, _ := record(s, status); uid != claim || pv != volume {
			t.Errorf("%s: %q, %q", name, uid, pv)
		}
	}
	accepted := again(with(0, copied), func(s *state.State) { s.Asked.AcceptVolumes = []string{"copy-of-" + nameOf(0)} })
	if uid, _, _ := record(accepted, status); uid != types.UID("copy-of-"+nameOf(0)) {
		t.Errorf("a copy that was accepted: %q", uid)
	}
	lost := again()
	lost.IncarnationCorrected = true
	if uid, _, _ := record(again(noQuorum, with(0, gone), func(s *state.State) { s.Members = s.Members[1:] }), status); uid != claim {
		t.Errorf("without any object: %q", uid)
	}
}
