package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// TestPlanAsked: a user requests a change of named members with an annotation.
func TestPlanAsked(t *testing.T) {
	replace := plantest.Asks(state.Asked{Replace: []string{plantest.NameOf(1)}})
	fence := plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(1)}})
	const cause = "annotation etcd.database.coreos.com/replace-members asks for it"
	plantest.Plans{
		"adds a member before it removes one that the annotation replaces": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), replace), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"removes a member that the annotation replaces once the new one votes": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), replace), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: cause},
		},
		"moves leadership from a member that the annotation replaces before it removes it": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.Asks(state.Asked{Replace: []string{plantest.NameOf(0)}})), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"replaces no member while another one is down": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.WithoutPod), replace), steps.CreateMember{Name: plantest.NameOf(2), Incarnation: 1, Start: state.StartRejoin},
		},
		"ignores a name that no member has": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asks(state.Asked{Replace: []string{"x"}, Fence: []string{"x"}, MoveLeader: []string{"x"}})), steps.Done{},
		},
		"gives no new member a name that the annotation contains": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Asks(state.Asked{Replace: []string{plantest.NameOf(2)}})), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"moves leadership to a member that the annotation does not name": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asks(state.Asked{MoveLeader: []string{plantest.NameOf(0), plantest.NameOf(1)}})), steps.MoveLeader{From: plantest.NameOf(0), To: 3, Name: plantest.NameOf(2)},
		},
		"moves no leadership if the annotation does not name the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asks(state.Asked{MoveLeader: []string{plantest.NameOf(1)}})), steps.Done{},
		},
		"refuses to move leadership from the only member": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.Asks(state.Asked{MoveLeader: []string{plantest.NameOf(0)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/move-leader-from asks that member " + plantest.NameOf(0) + " does not lead, but no other voter can lead. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
		"refuses to move leadership if the annotation names all voters": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Asks(state.Asked{MoveLeader: []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/move-leader-from asks that member " + plantest.NameOf(0) + " does not lead, but no other voter can lead. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
		"removes a fenced member from the client Service": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), fence), steps.RemoveFromService{Name: plantest.NameOf(1)},
		},
		"does not add a fenced member to the client Service": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.OutOfService), fence), steps.Done{},
		},
		"adds a member to the client Service when its fence is removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.OutOfService)), steps.AddToService{Name: plantest.NameOf(1)},
		},
		"moves leadership from a fenced member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.OutOfService), plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(0)}})), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"does not replace a fenced member that does not serve": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.OutOfService, plantest.UnreadyFor(state.StartGrace/2)), fence),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " does not serve: its Pod is not ready."},
		},
		"does not replace a fenced member that the replace annotation names": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.OutOfService), plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(1)}, Replace: []string{plantest.NameOf(1)}})), steps.Done{},
		},
		"refuses to fence more members than quorum allows": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.OutOfService, follows), plantest.With(1, plantest.Leads),
				plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(0), plantest.NameOf(2)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/fence-members asks to fence member " + plantest.NameOf(2) + ". The client Service must keep a quorum, 2 of 3 voters. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
		"refuses to fence the only member": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(0)}})),
			steps.Wait{
				Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
				Message: "Annotation etcd.database.coreos.com/fence-members asks to fence member " + plantest.NameOf(0) + ". The client Service must keep a quorum, 1 of 1 voters. " +
					"Remove a name from the annotation, or raise spec.size. The members serve as before.",
			},
		},
	}.Run(t, plan.Plan)
}

func TestAFencedMemberIsNamedWhileTheClusterIsReady(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.OutOfService), plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(1)}}))
	want := "3 members serve version 3.6.16. The client Service does not select " + plantest.NameOf(1) + ", because annotation etcd.database.coreos.com/fence-members asks for it."
	if got := steps.Describe(s, steps.Done{}).Message; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	status := plan.NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	for _, m := range status.MemberStatuses {
		if m.Fenced != (m.Name == plantest.NameOf(1)) {
			t.Errorf("member %s is fenced: %v", m.Name, m.Fenced)
		}
	}
}
