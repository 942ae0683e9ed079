package plantest

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// DeniedBy is a member that refuses the requests of the operator.
func DeniedBy(refusal etcd.Refusal) func(*state.Member) {
	return func(m *state.Member) { m.Refusal = refusal }
}

// Blind is a cluster of etcd 3.6.9 or later, which refuses all requests of an unknown user.
func Blind(refusal etcd.Refusal) Change {
	return func(s *state.State) {
		NoQuorum(s)
		for i := range s.Members {
			m := &s.Members[i]
			m.Answers, m.Serving, m.PodReady, m.InService, m.Guarded, m.Refusal = false, false, true, true, true, refusal
		}
	}
}

// User has the operator log in to etcd as a user.
func User(s *state.State) {
	s.Spec.Auth = &v1beta2.AuthPolicy{OperatorSecret: "login"}
	s.Authentication.User = "keeper"
}
