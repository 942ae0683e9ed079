package volumes_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Two of three volumes were lost, and the user created one of the claims again from a snapshot that is some hours old. The voter started
// under its old identity. With a second such voter it elected a leader that had never heard of the newest writes, and they were lost.
func TestAMemberDoesNotStartOnACopyOfItsVolume(t *testing.T) {
	lost := []plantest.Change{plantest.Formed, plantest.Members(3), plantest.Recorded, plantest.NoQuorum, plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.Gone)}
	same := plantest.StateWith(append(lost, plantest.With(1, func(m *state.Member) { m.VolumeID.Claim = "again-for-the-same-volume" }))...)
	if step := plan.Plan(same); step != (steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("a claim for the same PersistentVolume: %T %+v", step, step)
	}
	s := plantest.StateWith(append(lost, plantest.With(1, plantest.Copied))...)
	wait, is := plan.Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonQuorumLost || !strings.Contains(wait.Message, "1 of 3 voters have their data") || !strings.Contains(wait.Message, plantest.NameOf(1)) {
		t.Fatalf("a copy: %T %+v", plan.Plan(s), plan.Plan(s))
	}
	if strings.Contains(wait.Message, v1beta2.AnnotationAcceptVolumes) {
		t.Errorf("the status offers the copies although member 0 has its data: %s", wait.Message)
	}
}

// Two of three disks got other names in a migration of storage while the cluster hibernated. The consent to continue without lost members was
// there before, and writes that only these two members had were lost.
func TestAConsentIsNotAboutVolumesThatMayBeTheSameDisks(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded, plantest.NoQuorum, plantest.Consenting, plantest.With(0, plantest.Knows(1000, 7), plantest.UnreadyFor(2*state.StartGrace)), plantest.With(1, plantest.WithoutPod, plantest.Copied), plantest.With(2, plantest.WithoutPod, plantest.Copied))
	wait, is := plan.Plan(s).(steps.Wait)
	want := v1beta2.AnnotationAcceptVolumes + "=copy-of-" + plantest.NameOf(1) + ",copy-of-" + plantest.NameOf(2)
	if !is || !wait.Stalled || !strings.Contains(wait.Message, want) || !strings.Contains(wait.Message, "delete these") {
		t.Fatalf("%T %+v", plan.Plan(s), plan.Plan(s))
	}
	accepted := s
	accepted.Asked.AcceptVolumes = []string{"copy-of-" + plantest.NameOf(1), "copy-of-" + plantest.NameOf(2)}
	if step := plan.Plan(accepted); step != (steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("accepted: %T %+v", step, step)
	}
	plantest.Gone(&s.Members[1])
	plantest.Gone(&s.Members[2])
	if step, is := plan.Plan(s).(steps.BeginRecovery); !is || step.Member != plantest.NameOf(0) {
		t.Errorf("deleted: %T %+v", plan.Plan(s), plan.Plan(s))
	}
}

// While no node has the Pod of a member, Kubernetes lets its claim be deleted. The Pod then starts on the next claim of that name, and a
// member that runs counts as one with data.
func TestAPodThatHasNotStartedDoesNotStartOnACopy(t *testing.T) {
	for name, p := range map[string]func(*state.Member){
		"starting":            plantest.Pod(state.PodStarting),
		"finds no node":       plantest.BlockedBy(v1beta2.ReasonPodUnschedulable),
		"cannot get an image": plantest.BlockedBy(v1beta2.ReasonImageUnavailable),
	} {
		for quorum, change := range map[string]plantest.Change{"with a quorum": func(*state.State) {}, "without a quorum": plantest.NoQuorum} {
			s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded, change, plantest.With(1, p, plantest.Copied))
			if stop, is := plan.Plan(s).(steps.DeletePod); !is || stop.Name != plantest.NameOf(1) {
				t.Errorf("%s, a Pod that is %s: %T %+v", quorum, name, plan.Plan(s), plan.Plan(s))
			}
			s.Asked.AcceptVolumes = []string{"copy-of-" + plantest.NameOf(1)}
			if stop, is := plan.Plan(s).(steps.DeletePod); is && stop.Name == plantest.NameOf(1) && quorum == "without a quorum" && name == "starting" {
				t.Errorf("the copy is accepted: %+v", stop)
			}
			s.Asked.AcceptVolumes, s.Members[1].Ran = nil, true
			if stop, is := plan.Plan(s).(steps.DeletePod); is && stop.Name == plantest.NameOf(1) && name == "finds no node" {
				t.Errorf("%s, the Pod has run, and may have the only copy: %+v", quorum, stop)
			}
		}
	}
}

func TestIfOnlyCopiesAreLeftTheUserCanAcceptThem(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded, plantest.NoQuorum, plantest.With(0, plantest.WithoutPod, plantest.Copied), plantest.With(1, plantest.WithoutPod, plantest.Copied), plantest.With(2, plantest.Gone))
	wait, is := plan.Plan(s).(steps.Wait)
	want := v1beta2.AnnotationAcceptVolumes + "=copy-of-" + plantest.NameOf(0) + ",copy-of-" + plantest.NameOf(1)
	if !is || !strings.Contains(wait.Message, want) {
		t.Fatalf("the status does not say how: %T %+v", plan.Plan(s), plan.Plan(s))
	}
	s.Asked = state.NewAsked(map[string]string{v1beta2.AnnotationAcceptVolumes: "copy-of-" + plantest.NameOf(0) + ", copy-of-" + plantest.NameOf(1)})
	if step := plan.Plan(s); step != (steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("with the consent: %T %+v", step, step)
	}
	s.Members[0].VolumeID.Claim = "copied once more"
	if step := plan.Plan(s); step != (steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}) {
		t.Errorf("the consent is about another copy of member 0: %T %+v", step, step)
	}
}

func TestWithAQuorumACopyIsKeptAndItsMemberReplaced(t *testing.T) {
	copies := plantest.With(2, plantest.WithoutPod, plantest.Copied, func(m *state.Member) { m.Answers = false })
	for name, accept := range map[string]string{"without consent": "", "also with consent, because the others have all data": "copy-of-" + plantest.NameOf(2)} {
		t.Run(name, func(t *testing.T) {
			s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded, copies)
			s.Asked.AcceptVolumes = []string{accept}
			aside := steps.SetAsideVolume{Name: plantest.NameOf(2)}
			if step := plan.Plan(s); step != aside {
				t.Fatalf("first %T %+v", step, step)
			}
			refused := s
			plan.Refuse(&refused, aside)
			if wait, is := plan.Plan(refused).(steps.Wait); !is || wait.Reason != v1beta2.ReasonAnotherVolume {
				t.Errorf("if that is refused, %T %+v: the volume would be deleted later", plan.Plan(refused), plan.Plan(refused))
			}
			s.SetAside = []state.SetAside{{Name: plantest.NameOf(2), Since: plantest.Noon}}
			s.Members[2].Volume, s.Members[2].VolumeID = state.VolumeNone, state.VolumeID{}
			s.Removing = plantest.NameOf(2)
			if step, is := plan.Plan(s).(steps.RemoveMember); !is || step.Name != plantest.NameOf(2) || !step.DataGone() {
				t.Errorf("then %T %+v", plan.Plan(s), plan.Plan(s))
			}
		})
	}
}

func TestAMemberThatRunsBesideACopyIsReplacedFirst(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded, plantest.With(1, plantest.Copied))
	if step := plan.Plan(s); step != (steps.SetAsideVolume{Name: plantest.NameOf(1)}) {
		t.Fatalf("%T %+v", step, step)
	}
	s.SetAside = []state.SetAside{{Name: plantest.NameOf(1), Since: plantest.Noon}}
	s.Members[1].Volume, s.Members[1].VolumeID = state.VolumeNone, state.VolumeID{}
	if step, is := plan.Plan(s).(steps.AddLearner); !is {
		t.Errorf("%T %+v: the next Pod of member 1 finds no volume", step, step)
	}
}

// TestVolumesThatAreTheSame are cases in which a member must go on.
func TestVolumesThatAreTheSame(t *testing.T) {
	for name, change := range map[string]plantest.Change{
		"nothing is recorded, by an earlier release": func(s *state.State) { s.KnownVolumes = nil },
		"the status was lost":                        func(s *state.State) { s.KnownVolumes, s.KnownIDs, s.KnownVoters = nil, nil, nil },
		"the claim was bound after the record": func(s *state.State) {
			s.KnownVolumes[plantest.NameOf(0)] = state.VolumeID{Claim: s.Members[0].VolumeID.Claim}
		},
		"the claim was created again for the same volume": plantest.With(0, func(m *state.Member) { m.VolumeID.Claim = "again" }),
		"the record is of an earlier member of that name": func(s *state.State) {
			plantest.Copied(&s.Members[0])
			s.KnownIDs = map[string]etcd.ID{plantest.NameOf(0): 0xdead}
		},
		"the claim is accepted, and the member runs on it": func(s *state.State) {
			plantest.Copied(&s.Members[0])
			s.Asked.AcceptVolumes = []string{"copy-of-" + plantest.NameOf(0)}
		},
		"the members keep their data in their Pods, as asked": func(s *state.State) {
			plantest.InPods(s)
			plantest.OntoPods(s)
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
			s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded)
			change(&s)
			s.Budget.MinAvailable = state.MinAvailable(s)
			if step := plan.Plan(s); step != (steps.Done{}) {
				t.Errorf("%T %+v", step, step)
			}
		})
	}
}

func TestTheVolumeThatAMemberServesOnIsRecorded(t *testing.T) {
	record := func(s state.State, before v1beta2.EtcdClusterStatus) (types.UID, string, v1beta2.EtcdClusterStatus) {
		status := plan.NewStatus(s, steps.Done{}, nil, before, 1)
		return status.MemberStatuses[0].VolumeClaimUID, status.MemberStatuses[0].VolumeName, status
	}
	claim, volume := types.UID("claim-of-"+plantest.NameOf(0)), "pv-of-"+plantest.NameOf(0)
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Recorded)
	s.KnownVolumes = nil // as an earlier release leaves it
	uid, pv, status := record(s, v1beta2.EtcdClusterStatus{})
	if uid != claim || pv != volume {
		t.Fatalf("recorded %q, %q", uid, pv)
	}
	again := func(changes ...plantest.Change) state.State {
		s := plantest.StateWith(append([]plantest.Change{plantest.Formed, plantest.Members(3), plantest.Recorded}, changes...)...)
		s.KnownVolumes = state.NewState(&v1beta2.EtcdCluster{Status: status}).KnownVolumes
		return s
	}
	for name, s := range map[string]state.State{
		"while it does not serve":              again(plantest.With(0, plantest.Silent, plantest.Copied)),
		"while nothing of it is left":          again(plantest.NoQuorum, plantest.With(0, plantest.Gone)),
		"while a copy lies beside it":          again(plantest.With(0, plantest.Copied)),
		"while its claim is younger than Pods": again(plantest.With(0, plantest.Copied, func(m *state.Member) { m.PodCreated, m.VolumeCreated = plantest.Noon, plantest.Noon.Add(1) })),
	} {
		if uid, pv, _ := record(s, status); uid != claim || pv != volume {
			t.Errorf("%s: %q, %q", name, uid, pv)
		}
	}
	accepted := again(plantest.With(0, plantest.Copied), func(s *state.State) { s.Asked.AcceptVolumes = []string{"copy-of-" + plantest.NameOf(0)} })
	if uid, _, _ := record(accepted, status); uid != types.UID("copy-of-"+plantest.NameOf(0)) {
		t.Errorf("a copy that was accepted: %q", uid)
	}
	lost := again()
	lost.IncarnationCorrected = true
	if uid, _, _ := record(again(plantest.NoQuorum, plantest.With(0, plantest.Gone), func(s *state.State) { s.Members = s.Members[1:] }), status); uid != claim {
		t.Errorf("without any object: %q", uid)
	}
}
