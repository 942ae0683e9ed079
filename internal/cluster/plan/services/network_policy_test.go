package services_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A wrong answer leaves the members open to everyone, or takes a running cluster its peers.
func TestPlanNetworkPolicy(t *testing.T) {
	current, open := state.NetworkPolicy{Exists: true, Current: true}, state.NetworkPolicy{Exists: true, Current: true, OpenPeers: true}
	leaving := state.NetworkPolicy{Exists: true, Current: true, Leaving: true}
	mine := func(s *state.State) { s.Foreign = []state.ForeignObject{{Kind: "NetworkPolicy", Name: "example"}} }
	plantest.Plans{
		"a cluster that does not ask for a policy has none":                {plantest.StateWith(plantest.Formed, plantest.Members(3)), steps.Done{}},
		"a running cluster gets the policy that its spec asks for":         {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(state.NetworkPolicy{})), steps.ApplyNetworkPolicy{}},
		"a new cluster gets it before its first member starts":             {plantest.StateWith(plantest.Limited(state.NetworkPolicy{})), steps.ApplyNetworkPolicy{}},
		"a policy that is as it should be is not written again":            {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(current)), steps.Done{}},
		"the operator reverts a change of its policy":                      {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(state.NetworkPolicy{Exists: true})), steps.ApplyNetworkPolicy{}},
		"the policy is deleted if its field is removed":                    {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Unlimited(current)), steps.WithdrawNetworkPolicy{}},
		"a correction reaches a cluster that no member answers for":        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Limited(state.NetworkPolicy{Exists: true})), steps.ApplyNetworkPolicy{}},
		"members get their labels back before the policy knows them by it": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(state.NetworkPolicy{}), plantest.With(1, func(m *state.Member) { m.Unlabelled = true })), steps.RestoreLabels{Name: plantest.NameOf(1)}},
		"a cluster with foreign members keeps its peer port open":          {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), plantest.Limited(state.NetworkPolicy{})), steps.ApplyNetworkPolicy{OpenPeers: true}},
		"a policy that would cut off foreign members is opened":            {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Guest(), plantest.Limited(current)), steps.ApplyNetworkPolicy{OpenPeers: true}},
		"the peer port is closed once the foreign members are removed":     {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(open)), steps.ApplyNetworkPolicy{}},
		"a new cluster has no foreign members to stay open for":            {plantest.StateWith(plantest.Limited(open)), steps.ApplyNetworkPolicy{}},
		"a paused cluster keeps its policy":                                {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(state.NetworkPolicy{Exists: true}), func(s *state.State) { s.Spec.Paused = true }), modes.Paused(state.State{Spec: v1beta2.EtcdClusterSpec{Paused: true}})},
		"a policy that a finalizer keeps is not deleted again":             {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Unlimited(leaving), plantest.With(1, plantest.WithoutPod)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"and the status says that it still limits who connects":            {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Unlimited(leaving)), services.ReportNetworkPolicy(plantest.StateWith(plantest.Unlimited(leaving)))},
		"a policy that is being deleted is written when it is gone":        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(leaving), plantest.With(1, plantest.WithoutPod)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"the policy of a person is reported, and not changed": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(state.NetworkPolicy{}), mine), steps.Wait{
			Reason: v1beta2.ReasonNotOurs, Stalled: true, Requeue: state.RequeueForeign,
			Message: "NetworkPolicy example exists and does not belong to this EtcdCluster. The operator does not change it, so spec.networkPolicy has no effect. Delete or rename the object.",
		}},
		"an operator that may not write policies reports it": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Limited(state.NetworkPolicy{Unmanaged: true})), services.ReportNetworkPolicy(plantest.StateWith(plantest.Limited(state.NetworkPolicy{Unmanaged: true})))},
	}.Run(t, plan.Plan)
	if unknown := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Limited(open)); services.ApplyNetworkPolicy(unknown) != nil {
		t.Errorf("while no quorum answers, the peer port is closed to foreign members: %+v", services.ApplyNetworkPolicy(unknown))
	}
}

// The policy must not stop the repairs of a cluster, for example if a quota does not allow it.
func TestRepairsContinueIfTheNetworkPolicyIsRefused(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod), plantest.Limited(state.NetworkPolicy{}))
	step, rule := plan.Choose(s)
	if rule != "applyNetworkPolicy" || !plan.Independent(s, rule, step) || !plan.Unconditional(rule) {
		t.Fatalf("the plan is %+v by %s", step, rule)
	}
	plan.Refuse(&s, step)
	if next, is := plan.Plan(s).(steps.CreateMember); !is || next.Name != plantest.NameOf(1) {
		t.Errorf("without the policy, the plan is %+v", plan.Plan(s))
	}
}
