package waits

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// RestartByHand names members that were started with other CAs than their Secrets hold, and says how a person has them read the CAs again, as sentences that
// follow others. It is empty without members.
func RestartByHand(s state.State, old []state.Member) string {
	if len(old) == 0 {
		return ""
	}
	advice := "To have them read the CAs again, delete the Pods of these members, one after the other. They may become ready only after a quorum of them has restarted."
	if slices.ContainsFunc(old, func(m state.Member) bool { return !state.KeepsData(s, m) }) {
		advice = keepingData(s)
	}
	return " These members were started with other CAs than their Secrets hold now, and may refuse the operator and new clients: " + strings.Join(state.MemberNames(old), ", ") + ". " + advice
}

// RefusedByOthers is RestartByHand for members that refuse the operator, and so may refuse a member that was started with the present CAs and does not serve.
// The operator restarts none of them while that one is down, because they may be the quorum. It is empty if there are none.
func RefusedByOthers(s state.State, m state.Member) string {
	if !state.RunsFor(s, m, state.StartGrace) || state.TrustsOldCA(s, m) {
		return ""
	}
	return RestartByHand(s, s.Where(func(other state.Member) bool {
		return other.Incarnation == s.Incarnation && other.InMembership && other.Pod == state.PodRunning && !other.Answers && state.TrustsOldCA(s, other)
	}))
}

// keepingData is what a person does if a restart of members that refuse the operator would delete data.
func keepingData(s state.State) string {
	switch {
	case s.Certificates.RefusingExpired:
		return "The CA that they trust has expired. To keep the data, do not delete the Pods: stop the container etcd of each one on its node (crictl stop), so that it restarts with the new CA."
	case s.Spec.TLS.Issued():
		return "Put the previous CA back, because a restart of these members would delete data."
	}
	return "Put the previous CA and certificates back into the Secrets, because a restart of these members would delete data."
}
