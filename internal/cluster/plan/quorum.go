package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
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
	if wait := s.waitForMarked(); wait != nil {
		return wait
	}
	holders := s.holders()
	if s.tooFew(holders) {
		return s.lostQuorum(holders, s.knownVoters())
	}
	if wait := s.waitForAttempt(s.Current()); wait != nil {
		return wait
	}
	if wait := s.blocked(holders); wait != nil {
		return wait
	}
	if i := slices.IndexFunc(holders, s.overdue); i >= 0 {
		return s.waitUntilGone(holders[i], "", "")
	}
	if s.membersHaveHadTheirTime(holders) {
		return s.noQuorumInTime(holders)
	}
	message := "No quorum answers."
	if names := unanswered(holders); names != "" {
		message += planning.Sentence(" Members that hold data are running or starting: ", names)
	}
	return Wait{Reason: v1beta2.ReasonMemberDown, Message: message}
}

// holders returns the voters of the record that have their data.
func (s State) holders() []Member {
	return s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && s.HoldsData(m) && (s.knownVoters() == 0 || slices.Contains(s.KnownVoters, m.Name))
	})
}

// noQuorumInTime reports that the members with data formed no quorum in time. If no member has data, it reports that instead: the
// status was lost, too, so the operator does not know how many voters there were.
func (s State) noQuorumInTime(holders []Member) Step {
	lost := "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + unanswered(holders) +
		". The operator removes nothing." + s.sourceOfVoters() + s.whyPeersRefuse() + s.whyExpired() + " Recover these members. " + s.waysOnWithData(holders)
	if len(holders) == 0 {
		lost = "Quorum is lost: no member that the operator created has its data. etcd accepts no writes. The operator removes nothing." + s.saysOtherVolumes(true) + " " + s.wayOut(nil)
	}
	helps := len(holders) == 0 || s.withAllStopped().tooFew(holders)
	if unseen := s.unseenVoters(); len(unseen) > 0 && helps {
		lost += " The operator did not add " + labels(unseen) + ". If they are lost: " + s.sayStopped()
		if !s.Spec.ForcesNewCluster() && len(holders) > 0 && !slices.ContainsFunc(holders, s.inPod) {
			lost += " Then set spec.recovery.quorumLoss to ForceNewCluster, and the operator continues from the member with the newest data."
		}
	}
	return Wait{Reason: v1beta2.ReasonQuorumLost, Message: s.unlessForeignQuorum(lost), Stalled: true}
}

// waysOnWithData is the way out where the data is there, and its members cannot be brought back. It asks for the deletion of data only if
// another member has data, too, and if the operator can then see that quorum is lost.
func (s State) waysOnWithData(holders []Member) string {
	answers := slices.ContainsFunc(holders, func(m Member) bool { return m.Answers })
	if slices.ContainsFunc(s.Current(), func(m Member) bool { return s.goesWithPod(m) && s.trustsOldCA(m) }) {
		if s.Certificates.RefusingExpired {
			return s.onlyInPods() + "The CA that they trust has expired. To keep the data, do not delete the Pods: stop the container etcd of each one on its node (crictl stop), so that it restarts with the new CA. " + s.wayOut(nil)
		}
		return s.onlyInPods() + "Put the previous CA back into the TLS Secrets. " + s.wayOut(nil)
	}
	if !s.Durable() || slices.ContainsFunc(s.Current(), s.inPod) {
		return s.wayOut(nil)
	}
	if s.whyExpired() != "" {
		return "Keep their PersistentVolumeClaims: with valid certificates, these members may serve again. " + s.wayOut(nil)
	}
	if len(holders) < 2 || (s.knownVoters() == 0 && !answers) {
		return "Keep their PersistentVolumeClaims: the operator knows of no other data of this cluster. " + s.wayOut(nil)
	}
	return "If some of them are lost for good, delete their PersistentVolumeClaims. " + s.wayOut(nil)
}

// onlyInPods says that a restart would delete data, and of which members.
func (s State) onlyInPods() string {
	if slices.ContainsFunc(s.Current(), s.inPod) {
		return "Their data is in the Pods, and a restart would delete it. "
	}
	only := slices.DeleteFunc(slices.Clone(s.Current()), func(m Member) bool { return !s.goesWithPod(m) })
	return "Only the Pods of these members have their data, and a restart would delete it, because their volumes are lost or are being deleted: " +
		strings.Join(memberNames(only), ", ") + ". "
}

const (
	// shortestElection is how long members that answer may take to find a leader, at least; with etcd's defaults an election
	// takes a second or two.
	shortestElection = 15 * time.Second
	// startGrace is how long a Pod may take until its member serves: it pulls an image and reads its data before.
	startGrace = 5 * time.Minute
)

// electionGrace is how long members that answer may take to find a leader. An election takes up to twice the election timeout.
func (s State) electionGrace() time.Duration {
	var timeout time.Duration
	for _, e := range s.PodPolicy().EtcdEnv {
		if ms, err := strconv.ParseInt(e.Value, 10, 32); e.Name == "ETCD_ELECTION_TIMEOUT" && err == nil {
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	if s.Spec.Etcd != nil && s.Spec.Etcd.ElectionTimeout != nil {
		timeout = s.Spec.Etcd.ElectionTimeout.Duration
	}
	return max(shortestElection, 3*timeout)
}

// membersHaveHadTheirTime: no member holds data, or all that do have had their time and no quorum came of it.
func (s State) membersHaveHadTheirTime(holders []Member) bool {
	for _, m := range holders {
		grace := startGrace
		if m.Answers {
			grace = s.electionGrace()
		}
		if !s.unreadyFor(m, grace) {
			return false
		}
	}
	return true
}

// replayGrace is how long etcd may apply its log after its start. Until then the index in its metrics is lower than what it knows: it took 0.3 to
// 1.2 s for 9,000 to 24,000 entries, and etcd keeps up to some 100,000.
const replayGrace = 30 * time.Second

// replays says whether a member's etcd has just started. Its Pod may have waited for its volume and its image before.
func (s State) replays(m Member) bool {
	return !m.EtcdSince.IsZero() && !clock.Ahead(m.EtcdSince, s.Now) && clock.Elapsed(m.EtcdSince, s.Now) <= max(s.electionGrace(), replayGrace)
}

// mute says whether a member has run without a quorum for so long that its metrics show all that it knows, and that it would lead if it were alone.
func (s State) mute(m Member) bool { return !s.replays(m) && s.unreadyFor(m, s.electionGrace()) }

// unreadyFor says whether a member's Pod has been there and not ready for longer than grace. A member that still reads its
// database may take its startup budget, too.
func (s State) unreadyFor(m Member, grace time.Duration) bool {
	return m.Pod != PodNone && !m.UnreadySince.IsZero() && s.Now.Sub(m.UnreadySince) > grace+m.StartupBudget
}
