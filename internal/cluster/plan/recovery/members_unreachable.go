package recovery

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// That the operator reaches no member does not mean that clients reach none: a NetworkPolicy, or credentials that only the
// operator lacks, are in its way. The kubelet asks each member on its own node, so the Pods' readiness is a second witness.

const (
	// unreachableGrace is how long the operator tries before a person must act.
	unreachableGrace = time.Minute
)

// WhyUnreachable says what is in the operator's way, what it means and what to do.
func WhyUnreachable(s state.State) string {
	if s.SecretProblem != "" {
		return "The operator cannot ask the members: " + s.SecretProblem + ". Their Pods are ready, so clients may be served. Correct the Secret."
	}
	if refused := state.WhyClientRefused(s); refused != "" {
		return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready. The operator changes nothing.%s", state.Unanswered(s.Current()), refused)
	}
	if expired := state.WhyExpired(s); expired != "" {
		return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready. The operator changes nothing.%s", state.Unanswered(s.Current()), expired)
	}
	if held := heldUpByOne(s); held != "" {
		return held
	}
	if with := startedWithOtherCAs(s); with != "" {
		return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready, so clients that are connected may be served. The operator changes nothing.%s", state.Unanswered(s.Current()), with)
	}
	return fmt.Sprintf("The operator cannot reach the members: %s. Their Pods are ready, so clients may be served. The operator changes nothing. Check that no NetworkPolicy blocks port %d, and that the members trust the operator's client certificate.",
		state.Unanswered(s.Current()), v1beta2.ClientPort)
}

// waitUntilReachable waits, because what is not known is no reason to change anything.
func waitUntilReachable(s state.State) steps.Step {
	long := !slices.ContainsFunc(s.Current(), func(m state.Member) bool {
		return m.SilentSince.IsZero() || s.Now.Sub(m.SilentSince) < unreachableGrace
	})
	return steps.Wait{Reason: v1beta2.ReasonMembersUnreachable, Message: WhyUnreachable(s), Stalled: long, Overdue: v1beta2.ReasonMembersUnreachable}
}
