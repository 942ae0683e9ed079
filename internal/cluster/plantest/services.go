package plantest

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Limited means that the spec asks for a NetworkPolicy, and it stands as have says.
func Limited(have state.NetworkPolicy) Change {
	return func(s *state.State) { s.Spec.NetworkPolicy, s.NetworkPolicy = &v1beta2.MemberNetworkPolicy{}, have }
}

// Unlimited means that the spec does not ask for a NetworkPolicy.
func Unlimited(have state.NetworkPolicy) Change {
	return func(s *state.State) { s.NetworkPolicy = have }
}
