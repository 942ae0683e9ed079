package services

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// ApplyNetworkPolicy limits who connects to the members. It asks no member, so that a correction also reaches a cluster that
// the NetworkPolicy has cut off. It comes after restoreLabels, because the policy knows members by a label.
func ApplyNetworkPolicy(s state.State) steps.Step {
	have := s.NetworkPolicy
	switch {
	case have.Unmanaged, have.Leaving, state.IsForeign(s, "NetworkPolicy", s.Name):
		return nil
	case s.Spec.NetworkPolicy == nil && have.Exists:
		return steps.WithdrawNetworkPolicy{}
	case s.Spec.NetworkPolicy == nil:
		return nil
	}
	want := steps.ApplyNetworkPolicy{OpenPeers: opensPeers(s)}
	if have.Exists && have.Current && have.OpenPeers == want.OpenPeers {
		return nil
	}
	return want
}

// opensPeers reports whether everyone may connect to the peer port. Foreign members run anywhere, and no label names them. A
// policy without them would take a running cluster its quorum. While no quorum of a formed cluster answers, a port that is open remains so.
func opensPeers(s state.State) bool {
	return len(s.ForeignMembers) > 0 || (s.NetworkPolicy.OpenPeers && s.Formed() && !s.MembershipKnown)
}

// ReportNetworkPolicy reports a NetworkPolicy that the operator cannot bring to what the spec asks for.
func ReportNetworkPolicy(s state.State) steps.Step {
	switch {
	case s.NetworkPolicy.Leaving:
		return steps.Advice{
			Reason: v1beta2.ReasonSettingIgnored,
			Message: "NetworkPolicy " + s.Name + " is being deleted, but a finalizer keeps it. It still limits who connects, and the operator cannot change it. " +
				"Let the controller that set the finalizer run, or remove the finalizer.",
		}
	case s.Spec.NetworkPolicy != nil && s.NetworkPolicy.Unmanaged:
		return steps.Advice{
			Reason: v1beta2.ReasonSettingIgnored,
			Message: "The operator does not manage NetworkPolicies, so spec.networkPolicy creates none. One that the operator created earlier remains as it is, and still limits who connects. " +
				"Ask the administrator of the operators to set the value clusterOperator.networkPolicies of the chart. Or delete NetworkPolicy " + s.Name + ", if it exists, and remove spec.networkPolicy.",
		}
	}
	return nil
}
