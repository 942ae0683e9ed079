package certificates

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// RestartForNewCA restarts members that trust other CAs than their Secrets hold, if that may be why no quorum answers. A
// user may have replaced the CA at once, or it expired while the operator was down. A short loss of quorum is no reason to
// stop a member, so all members that may come back must run and must be unready for startGrace. While a quorum answers, rollMembers does it.
// The same holds for members that refuse the present certificate of peers because of its name.
// A member that is not ready is restarted before those that are.
// A member whose next Pod would be without its data is not restarted: waysOnWithData reports it. Neither is one whose node is silent (see
// state.StopsLater).
func RestartForNewCA(s state.State) steps.Step {
	if !s.Formed() || s.MembershipKnown || s.Certificates.Trust == "" {
		return nil
	}
	current := slices.Clone(s.Current())
	if slices.ContainsFunc(current, func(m state.Member) bool { return holdsUpRestart(s, m) }) {
		return nil
	}
	slices.SortStableFunc(current, func(a, b state.Member) int { return order(state.MayServe(s, a), state.MayServe(s, b)) })
	for _, m := range current {
		switch {
		case m.Pod != state.PodRunning || state.StopsLater(m) || !state.KeepsData(s, m):
		case state.TrustsOldCA(s, m):
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "no quorum answers, and it must trust the CA that its Secrets hold now"}
		case state.RefusesPeers(s, m):
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonCertificateLacksName, Message: "no quorum answers, and it refuses the certificates of peers that its Secrets hold now"}
		}
	}
	return nil
}

// order puts what is not so before what is so.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// holdsUpRestart reports whether no member is restarted for a new CA yet, because of this one: it serves, it may come back, or it has not refused the
// others for long. While others are ready, they may be the quorum of clients that are still connected. What keeps one member from coming back may keep
// the next one, too. So the etcd of one that has restarted must run for startGrace first, unless it serves before. The others may refuse it, and
// then it answers no client. A member without a vote was not restarted for the CA, and cannot join while the voters refuse it. etcd of a member that may have been
// removed never runs again.
func holdsUpRestart(s state.State, m state.Member) bool {
	readyWithOldCA := slices.ContainsFunc(s.Current(), func(other state.Member) bool {
		return other.Name != m.Name && state.MayServe(s, other) && state.TrustsOldCA(s, other)
	})
	switch {
	case state.Overdue(s, m) && !m.NodeSilent:
		return readyWithOldCA
	case neverReturns(s, m):
		return false
	case m.Pod == state.PodNone || m.Pod == state.PodDeleting || m.Serving:
		return true
	case state.TrustsOldCA(s, m) || state.RefusesPeers(s, m):
		// Only the operator may not reach one that is ready.
		return (state.MayServe(s, m) || !state.UnreadyFor(s, m, state.StartGrace)) && !refusesFor(s, m, state.StartGrace)
	}
	return readyWithOldCA && state.MayVote(s, m) && s.Removing != m.Name && !state.RunsFor(s, m, state.StartGrace)
}

// neverReturns reports whether nothing that Kubernetes does by itself lets a member run again: it has neither Pod nor data, or its Pod should
// have stopped long ago and its node does not confirm that. The others do not wait for it.
func neverReturns(s state.State, m state.Member) bool {
	return (m.Pod == state.PodNone && !s.HoldsData(m)) || state.Overdue(s, m)
}
