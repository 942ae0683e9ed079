package plan

import "time"

// A member is replaced for the time in which it failed, and only for that. Its Pod may not have been ready for longer: the Pod of a learner is never
// ready, no Pod is ready without a quorum, and a large database takes minutes to read. So the operator also remembers since when it has seen the
// member fail. A process that has just started has seen nothing, and observes the member for the short grace period first.

// Expected reports whether a member should do its part by now. A voter should serve if a quorum does and its time to start etcd is over. A learner
// that the operator has released should start etcd once its Pod has a node.
func (s State) Expected(m Member) bool {
	if !s.MembershipKnown || !m.InMembership || m.Incarnation != s.Incarnation {
		return false
	}
	if m.Learner {
		return m.Pod == PodStarting && m.Node != "" && !m.Waits
	}
	return !s.stillStarts(m)
}

// stillStarts reports whether a member may still read its database. A container that restarts again and again gets no new time: the time ends once
// the Pod has not been ready for so long, or once this process has got no answer for so long.
func (s State) stillStarts(m Member) bool {
	over := func(since time.Time) bool { return !since.IsZero() && s.Now.Sub(since) > m.StartupBudget }
	return m.StartupBudget > 0 && !over(m.UnreadySince) && !over(m.SilentSince)
}

// QuorumGap is how long no quorum may answer before the time of a member that fails begins anew. One slow read is no outage.
const QuorumGap = silenceGrace

// failedFor reports whether a member has failed for longer than grace: its Pod has not been ready for that time, and this process has seen it fail for
// the short grace period at least.
func (s State) failedFor(m Member, grace time.Duration) bool {
	return s.unreadyFor(m, grace) && s.seenFailingFor(m, s.shortGrace(grace))
}

// seenFailingFor reports whether this process has seen a member fail for longer than a time.
func (s State) seenFailingFor(m Member, time time.Duration) bool {
	return !m.FailingSince.IsZero() && s.Now.Sub(m.FailingSince) > time
}

// shortGrace is how long a member may fail after it got its vote, after it read its database, or after a quorum was elected. It never prolongs the
// grace period of the spec.
func (s State) shortGrace(grace time.Duration) time.Duration {
	return min(grace, max(recreateGrace, s.electionGrace()))
}
