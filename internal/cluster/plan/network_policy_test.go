package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// limited: the spec asks for a NetworkPolicy, and it stands as have says.
func limited(have state.NetworkPolicy) change {
	return func(s *state.State) { s.Spec.NetworkPolicy, s.NetworkPolicy = &v1beta2.MemberNetworkPolicy{}, have }
}

// unlimited: the spec does not ask for a NetworkPolicy.
func unlimited(have state.NetworkPolicy) change {
	return func(s *state.State) { s.NetworkPolicy = have }
}

// A wrong answer leaves the members open to everyone, or takes a running cluster its peers.
func TestPlanNetworkPolicy(t *testing.T) {
	current, open := state.NetworkPolicy{Exists: true, Current: true}, state.NetworkPolicy{Exists: true, Current: true, OpenPeers: true}
	leaving := state.NetworkPolicy{Exists: true, Current: true, Leaving: true}
	mine := func(s *state.State) { s.Foreign = []state.ForeignObject{{Kind: "NetworkPolicy", Name: "example"}} }
	planTests{
		"a cluster that does not ask for a policy has none":                {stateWith(formed, members(3)), steps.Done{}},
		"a running cluster gets the policy that its spec asks for":         {stateWith(formed, members(3), limited(state.NetworkPolicy{})), steps.ApplyNetworkPolicy{}},
		"a new cluster gets it before its first member starts":             {stateWith(limited(state.NetworkPolicy{})), steps.ApplyNetworkPolicy{}},
		"a policy that is as it should be is not written again":            {stateWith(formed, members(3), limited(current)), steps.Done{}},
		"the operator reverts a change of its policy":                      {stateWith(formed, members(3), limited(state.NetworkPolicy{Exists: true})), steps.ApplyNetworkPolicy{}},
		"the policy is deleted if its field is removed":                    {stateWith(formed, members(3), unlimited(current)), steps.WithdrawNetworkPolicy{}},
		"a correction reaches a cluster that no member answers for":        {stateWith(formed, members(3), noQuorum, limited(state.NetworkPolicy{Exists: true})), steps.ApplyNetworkPolicy{}},
		"members get their labels back before the policy knows them by it": {stateWith(formed, members(3), limited(state.NetworkPolicy{}), with(1, func(m *state.Member) { m.Unlabelled = true })), steps.RestoreLabels{Name: nameOf(1)}},
		"a cluster with foreign members keeps its peer port open":          {stateWith(formed, members(3), guest(), limited(state.NetworkPolicy{})), steps.ApplyNetworkPolicy{OpenPeers: true}},
		"a policy that would cut off foreign members is opened":            {stateWith(formed, members(3), guest(), limited(current)), steps.ApplyNetworkPolicy{OpenPeers: true}},
		"the peer port is closed once the foreign members are removed":     {stateWith(formed, members(3), limited(open)), steps.ApplyNetworkPolicy{}},
		"a new cluster has no foreign members to stay open for":            {stateWith(limited(open)), steps.ApplyNetworkPolicy{}},
		"a paused cluster keeps its policy":                                {stateWith(formed, members(3), limited(state.NetworkPolicy{Exists: true}), func(s *state.State) { s.Spec.Paused = true }), modes.Paused(state.State{Spec: v1beta2.EtcdClusterSpec{Paused: true}})},
		"a policy that a finalizer keeps is not deleted again":             {stateWith(formed, members(3), unlimited(leaving), with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"and the status says that it still limits who connects":            {stateWith(formed, members(3), unlimited(leaving)), services.ReportNetworkPolicy(stateWith(unlimited(leaving)))},
		"a policy that is being deleted is written when it is gone":        {stateWith(formed, members(3), limited(leaving), with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"the policy of a person is reported, and not changed": {stateWith(formed, members(3), limited(state.NetworkPolicy{}), mine), steps.Wait{
			Reason: v1beta2.ReasonNotOurs, Stalled: true, Requeue: state.RequeueForeign,
			Message: "NetworkPolicy example exists and does not belong to this EtcdCluster. The operator does not change it, so spec.networkPolicy has no effect. Delete or rename the object.",
		}},
		"an operator that may not write policies reports it": {stateWith(formed, members(3), limited(state.NetworkPolicy{Unmanaged: true})), services.ReportNetworkPolicy(stateWith(limited(state.NetworkPolicy{Unmanaged: true})))},
	}.run(t)
	if unknown := stateWith(formed, members(3), noQuorum, limited(open)); services.ApplyNetworkPolicy(unknown) != nil {
		t.Errorf("while no quorum answers, the peer port is closed to foreign members: %+v", services.ApplyNetworkPolicy(unknown))
	}
}

// The policy must not stop the repairs of a cluster, for example if a quota does not allow it.
func TestRepairsContinueIfTheNetworkPolicyIsRefused(t *testing.T) {
	s := stateWith(formed, members(3), with(1, withoutPod), limited(state.NetworkPolicy{}))
	step, rule := Choose(s)
	if rule != "applyNetworkPolicy" || !Independent(s, rule, step) || !Unconditional(rule) {
		t.Fatalf("the plan is %+v by %s", step, rule)
	}
	Refuse(&s, step)
	if next, is := Plan(s).(steps.CreateMember); !is || next.Name != nameOf(1) {
		t.Errorf("without the policy, the plan is %+v", Plan(s))
	}
}
