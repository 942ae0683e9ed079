package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// That the operator reaches no member does not mean that clients reach none: a NetworkPolicy, or credentials that only the
// operator lacks, are in its way. The kubelet asks each member on its own node, so the Pods' readiness is a second witness.

const (
	// silenceGrace is how long a member whose Pod is ready may not answer before that counts: one slow read is no outage.
	silenceGrace = 10 * time.Second
	// unreachableGrace is how long the operator tries before a person must act.
	unreachableGrace = time.Minute
)

// unreachable says whether no member answers the operator while the Pods of a quorum are ready.
func (s State) unreachable() bool {
	return !s.Guarded() && s.readyQuorum(func(m Member) bool { return !m.Answers })
}

// briefly says whether a member whose Pod is ready has not served for a moment only.
func (s State) briefly(m Member) bool {
	return s.readyVoter(m) && !m.SilentSince.IsZero() && s.Now.Sub(m.SilentSince) < silenceGrace
}

func (s State) readyVoter(m Member) bool {
	return !m.Serving && m.PodReady && m.InService && m.Pod == PodRunning
}

// readyQuorum says whether no member serves the operator, and enough voters have a Pod that is ready and count.
func (s State) readyQuorum(counts func(Member) bool) bool {
	if !s.Formed() || s.MembershipKnown {
		return false
	}
	ready := 0
	for _, m := range s.Current() {
		if s.readyVoter(m) && counts(m) {
			ready++
		}
	}
	return ready >= s.readyForQuorum()
}

// readyForQuorum is how many ready Pods prove a quorum. A Pod is ready only while its member reaches the leader, so if foreign
// voters are part of the quorum, all Pods prove it, too.
func (s State) readyForQuorum() int {
	if voters := s.knownVoters(); voters > 0 {
		return min(etcd.Quorum(voters), len(s.KnownVoters))
	}
	return etcd.Quorum(max(s.Spec.Size, 1))
}

// QuorumUnknown says whether nothing is known of the quorum, and whether that is so for a moment only.
func (s State) QuorumUnknown() (unknown, briefly bool) {
	briefly = !s.Guarded() && s.readyQuorum(s.briefly)
	return briefly || s.unreachable(), briefly
}

// whyUnreachable says what is in the operator's way, what it means and what to do.
func (s State) whyUnreachable() string {
	if s.SecretProblem != "" {
		return "The operator cannot ask the members: " + s.SecretProblem + ". Their Pods are ready, so clients may be served. Correct the Secret."
	}
	if refused := s.whyClientRefused(); refused != "" {
		return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready. The operator changes nothing.%s", unanswered(s.Current()), refused)
	}
	if expired := s.whyExpired(); expired != "" {
		return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready. The operator changes nothing.%s", unanswered(s.Current()), expired)
	}
	return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready, so clients may be served. The operator changes nothing. Check that no NetworkPolicy blocks port %d, and that the members trust the operator's client certificate.",
		unanswered(s.Current()), v1beta2.ClientPort)
}

// waitUntilReachable: what nobody knows is no reason to change anything.
func (s State) waitUntilReachable() Step {
	long := !slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.SilentSince.IsZero() || s.Now.Sub(m.SilentSince) < unreachableGrace
	})
	return Wait{Reason: v1beta2.ReasonMembersUnreachable, Message: s.whyUnreachable(), Stalled: long, Overdue: v1beta2.ReasonMembersUnreachable}
}
