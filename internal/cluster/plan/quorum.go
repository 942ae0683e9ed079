package plan

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// waitForQuorum: without one etcd changes nothing, and neither does the operator.
func waitForQuorum(s State) Step {
	if !s.Formed() || s.MembershipKnown {
		return nil
	}
	if s.Guarded() {
		return s.waitForPermission()
	}
	if s.unreachable() {
		return s.waitUntilReachable()
	}
	known := len(s.KnownVoters)
	holders := s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && s.HoldsData(m) && (known == 0 || slices.Contains(s.KnownVoters, m.Name))
	})
	if known > 0 && len(holders) < etcd.Quorum(known) {
		return s.lostQuorum(holders, known)
	}
	if wait := blocked(holders); wait != nil {
		return wait
	}
	if i := slices.IndexFunc(holders, s.overdue); i >= 0 {
		return s.waitUntilGone(holders[i], "", "")
	}
	if s.membersHaveHadTheirTime(holders) {
		return Wait{
			Reason:  v1beta2.ReasonQuorumLost,
			Message: "quorum is lost: the members that have data have had their time and do not agree (" + unanswered(s.Current()) + "); nothing is removed: bring them back, or " + s.waysOnWithData(),
			Stalled: true,
		}
	}
	return Wait{Reason: v1beta2.ReasonMemberDown, Message: "Quorum does not answer. Members that hold data are running or starting: " + unanswered(s.Current())}
}

// waysOnWithData is the way out where the data is there, and its members cannot be brought back.
func (s State) waysOnWithData() string {
	if s.Durable() {
		return "delete the PersistentVolumeClaims of those that cannot come back, or " + s.wayOut(nil)
	}
	if slices.ContainsFunc(s.Current(), func(m Member) bool { return s.goesWithPod(m) && s.trustsOldCA(m) }) {
		return "put the authorities back into the TLS Secrets that the members were started with, for to restart them is to lose their data, or " + s.wayOut(nil)
	}
	return s.wayOut(nil)
}

const (
	// electionGrace is how long members that answer may take to find a leader; etcd's own election takes a second or two.
	electionGrace = 15 * time.Second
	// startGrace is how long a Pod may take until its member serves: it pulls an image and reads its data before.
	startGrace = 5 * time.Minute
)

// membersHaveHadTheirTime: no member holds data, or all that do have had their time and no quorum came of it.
func (s State) membersHaveHadTheirTime(holders []Member) bool {
	for _, m := range holders {
		grace := startGrace
		if m.Answers {
			grace = electionGrace
		}
		if !s.unreadyFor(m, grace) {
			return false
		}
	}
	return true
}

// unreadyFor says whether a member's Pod has been there and not ready for longer than grace. A member that still reads its
// database may take its startup budget, too.
func (s State) unreadyFor(m Member, grace time.Duration) bool {
	return m.Pod != PodNone && !m.UnreadySince.IsZero() && s.Now.Sub(m.UnreadySince) > grace+m.StartupBudget
}
