package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func asks(a state.Asked) change { return func(s *state.State) { s.Asked = a } }

func outOfService(m *state.Member) { m.InService = false }

// TestPlanAsked: a user requests a change of named members with an annotation.
func TestPlanAsked(t *testing.T) {
	replace := asks(state.Asked{Replace: []string{nameOf(1)}})
	fence := asks(state.Asked{Fence: []string{nameOf(1)}})
	const cause = "annotation etcd.database.coreos.com/replace-members asks for it"
	planTests{
		"adds a member before it removes one that the annotation replaces": {
			stateWith(formed, members(3), replace), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"removes a member that the annotation replaces once the new one votes": {
			stateWith(formed, members(4), replace), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: cause},
		},
		"moves leadership from a member that the annotation replaces before it removes it": {
			stateWith(formed, members(4), asks(state.Asked{Replace: []string{nameOf(0)}})), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"replaces no member while another one is down": {
			stateWith(formed, members(3), with(2, withoutPod), replace), steps.CreateMember{Name: nameOf(2), Incarnation: 1, Start: state.StartRejoin},
		},
		"ignores a name that no member has": {
			stateWith(formed, members(3), asks(state.Asked{Replace: []string{"x"}, Fence: []string{"x"}, MoveLeader: []string{"x"}})), steps.Done{},
		},
		"gives no new member a name that the annotation contains": {
			stateWith(formed, members(2), asks(state.Asked{Replace: []string{nameOf(2)}})), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"moves leadership to a member that the annotation does not name": {
			stateWith(formed, members(3), asks(state.Asked{MoveLeader: []string{nameOf(0), nameOf(1)}})), steps.MoveLeader{From: nameOf(0), To: 3, Name: nameOf(2)},
		},
		"moves no leadership if the annotation does not name the leader": {
			stateWith(formed, members(3), asks(state.Asked{MoveLeader: []string{nameOf(1)}})), steps.Done{},
		},
		"refuses to move leadership from the only member": {
			stateWith(formed, members(1), size(1), asks(state.Asked{MoveLeader: []string{nameOf(0)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/move-leader-from asks that member " + nameOf(0) + " does not lead, but no other voter can lead. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
		"refuses to move leadership if the annotation names all voters": {
			stateWith(formed, members(3), asks(state.Asked{MoveLeader: []string{nameOf(0), nameOf(1), nameOf(2)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/move-leader-from asks that member " + nameOf(0) + " does not lead, but no other voter can lead. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
		"removes a fenced member from the client Service": {
			stateWith(formed, members(3), fence), steps.RemoveFromService{Name: nameOf(1)},
		},
		"does not add a fenced member to the client Service": {
			stateWith(formed, members(3), with(1, outOfService), fence), steps.Done{},
		},
		"adds a member to the client Service when its fence is removed": {
			stateWith(formed, members(3), with(1, outOfService)), steps.AddToService{Name: nameOf(1)},
		},
		"moves leadership from a fenced member": {
			stateWith(formed, members(3), with(0, outOfService), asks(state.Asked{Fence: []string{nameOf(0)}})), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"does not replace a fenced member that does not serve": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), outOfService, unreadyFor(state.StartGrace/2)), fence),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " does not serve: its Pod is not ready."},
		},
		"does not replace a fenced member that the replace annotation names": {
			stateWith(formed, members(3), with(1, outOfService), asks(state.Asked{Fence: []string{nameOf(1)}, Replace: []string{nameOf(1)}})), steps.Done{},
		},
		"refuses to fence more members than quorum allows": {
			stateWith(formed, members(3), with(0, outOfService, follows), with(1, leads),
				asks(state.Asked{Fence: []string{nameOf(0), nameOf(2)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/fence-members asks to fence member " + nameOf(2) + ". The client Service must keep a quorum, 2 of 3 voters. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
		"refuses to fence the only member": {
			stateWith(formed, members(1), size(1), asks(state.Asked{Fence: []string{nameOf(0)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/fence-members asks to fence member " + nameOf(0) + ". The client Service must keep a quorum, 1 of 1 voters. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
	}.run(t)
}

func TestAFencedMemberIsNamedWhileTheClusterIsReady(t *testing.T) {
	s := stateWith(formed, members(3), with(1, outOfService), asks(state.Asked{Fence: []string{nameOf(1)}}))
	want := "3 members serve version 3.6.16. The client Service does not select " + nameOf(1) + ", because annotation etcd.database.coreos.com/fence-members asks for it."
	if got := steps.Describe(s, steps.Done{}).Message; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	status := NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	for _, m := range status.MemberStatuses {
		if m.Fenced != (m.Name == nameOf(1)) {
			t.Errorf("member %s is fenced: %v", m.Name, m.Fenced)
		}
	}
}
