package repair

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Silence is since when the members of a cluster have not served, as far as an operator has seen. Saw returns another one, and changes none. After a
// restart of the operator it begins anew, as the zero value.
type Silence struct {
	members map[string]Quiet
	// noQuorum is since when no quorum has answered; zero if one answers. looked is when the members were observed.
	noQuorum, looked time.Time
}

// lookGap is how long the operator may not have looked at a cluster. After a longer time it begins anew: a member may have served meanwhile. While a
// member does not serve, the operator looks at least every 30 seconds.
const lookGap = 10 * time.Minute

// Quiet is since when a member has not served, and whether its etcd has run in that time. Failing is since when it has not done what state.Expected
// says; zero if it has. A learner has the name of an earlier member, but not its ID.
type Quiet struct {
	Since, Failing time.Time
	Ran            bool
	learner        etcd.ID
}

// Of returns what was seen of a member, and false if it served.
func (before Silence) Of(name string) (Quiet, bool) {
	seen, known := before.members[name]
	return seen, known
}

// of returns what was seen of a member, and nothing of an earlier one with the name of a learner.
func (before Silence) of(m *state.Member) (Quiet, bool) {
	seen, known := before.members[m.Name]
	if m.Learner && seen.learner != m.ID {
		return Quiet{learner: m.ID}, false
	}
	return seen, known
}

// NoQuorum is since when no quorum has answered; zero if one answers.
func (before Silence) NoQuorum() time.Time { return before.noQuorum }

// Looked returns the memory of an operator that has looked at the cluster until a time, and has seen no change.
func (before Silence) Looked(until time.Time) Silence {
	before.looked = until
	return before
}

// Saw writes into each member since when it has not served, and since when it has failed. The time of a learner begins when its etcd first
// runs: before, it may have waited for a node or an image, and it has yet to copy the data.
func (before Silence) Saw(s *state.State) Silence {
	after := Silence{members: map[string]Quiet{}, looked: s.Now}
	if s.Now.Sub(before.looked) > lookGap {
		before = Silence{}
	}
	if !s.MembershipKnown {
		after.noQuorum = firstOf(before.noQuorum, s.Now)
	}
	lost := firstOf(before.noQuorum, s.Now)
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Serving {
			seen, known := before.of(m)
			if !known || (m.Learner && !seen.Ran) {
				seen.Since = s.Now
			}
			seen.Ran = seen.Ran || m.Pod == state.PodRunning
			m.SilentSince = seen.Since
			if s.Now.Sub(lost) > QuorumGap || (s.MembershipKnown && !state.Expected(*s, *m)) {
				seen.Failing = time.Time{}
			}
			if state.Expected(*s, *m) {
				seen.Failing = firstOf(seen.Failing, s.Now)
			}
			if m.PodReady && readyIsProof(*m) {
				seen.Failing = time.Time{}
			}
			m.FailingSince = seen.Failing
			after.members[m.Name] = seen
		}
		if m.Beside != "" || m.PodReady && !readyIsProof(*m) {
			if m.UnreadySince = m.SilentSince; !m.SilentSince.IsZero() {
				m.UnreadySince = state.Later(m.SilentSince, m.PodCreated)
			}
		}
	}
	return after
}

// readyIsProof reports whether a Pod that counts as ready proves that its etcd serves. With a readiness gate that is not open, and with the probe of
// etcd 3.4, the condition says nothing about etcd.
func readyIsProof(m state.Member) bool { return m.Gate == "" && (!m.ReadyAlone || m.Guarded) }

// firstOf is the time that was recorded, or now if there is none.
func firstOf(recorded, now time.Time) time.Time {
	if recorded.IsZero() {
		return now
	}
	return recorded
}
