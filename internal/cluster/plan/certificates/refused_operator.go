package certificates

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// refusesOperator reports whether a member was started with CAs that did not sign the certificate of the operator.
func refusesOperator(s state.State, m state.Member) bool {
	if m.Guarded || m.Refusal != etcd.NotRefused {
		return false // TLS has accepted the operator: etcd started again in its Pod, and has read other CAs since
	}
	return m.Trust != "" && slices.Contains(strings.Fields(s.Certificates.Refusing), m.Trust)
}

// refusesFor reports whether a member whose Pod is ready has refused the operator for a time. It refuses all clients with the certificate in their Secret, too.
func refusesFor(s state.State, m state.Member, d time.Duration) bool {
	return refusesOperator(s, m) && m.PodReady && state.SilentFor(s, m, d) && state.StartedFor(s, m, d)
}

// refuseInUse reports whether all members that run refuse the certificates in use, and trust only the CAs that sign now: somebody has put those back. None
// may have answered for a minute: one whose container has restarted in its Pod may trust other CAs than the Pod's annotation says. A Pod whose etcd does
// not run accepts nothing, and reads the CAs when it starts.
func refuseInUse(s state.State) bool {
	if !s.Formed() || s.MembershipKnown || !s.Certificates.Outdated {
		return false
	}
	running := s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && m.Pod == state.PodRunning
	})
	return len(running) > 0 && !slices.ContainsFunc(running, func(m state.Member) bool {
		return !state.SilentFor(s, m, state.RecreateGrace) || m.Trust != s.Certificates.Wanted || !refusesOperator(s, m)
	})
}
