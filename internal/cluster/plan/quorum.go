package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// waitForQuorum: without one etcd changes nothing, and neither does the operator.
func waitForQuorum(s state.State) Step {
	if !s.Formed() || s.MembershipKnown {
		return nil
	}
	if state.Guarded(s) {
		return waitForPermission(s)
	}
	if state.Unreachable(s) {
		return waitUntilReachable(s)
	}
	if wait := waitForMarked(s); wait != nil {
		return wait
	}
	holders := state.Holders(s)
	if state.TooFew(s, holders) {
		return lostQuorum(s, holders, state.KnownVoters(s))
	}
	if wait := waitForAttempt(s, s.Current()); wait != nil {
		return wait
	}
	if wait := blocked(s, holders); wait != nil {
		return wait
	}
	if i := slices.IndexFunc(holders, func(m state.Member) bool { return state.Overdue(s, m) }); i >= 0 {
		return waitUntilGone(s, holders[i], "", "")
	}
	if membersHaveHadTheirTime(s, holders) {
		return noQuorumInTime(s, holders)
	}
	message := "No quorum answers."
	if names := state.Unanswered(holders); names != "" {
		message += planning.Sentence(" Members that hold data are running or starting: ", names)
	}
	return Wait{Reason: v1beta2.ReasonMemberDown, Message: message}
}

// noQuorumInTime reports that the members with data formed no quorum in time. If no member has data, it reports that instead: the
// status was lost, too, so the operator does not know how many voters there were.
func noQuorumInTime(s state.State, holders []state.Member) Step {
	lost := "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + state.Unanswered(holders) +
		". The operator removes nothing." + sourceOfVoters(s) + state.WhyPeersRefuse(s) + state.WhyExpired(s) + " Recover these members. " + waysOnWithData(s, holders)
	if len(holders) == 0 {
		lost = "Quorum is lost: no member that the operator created has its data. etcd accepts no writes. The operator removes nothing." + state.SaysOtherVolumes(s, true) + " " + wayOut(s, nil)
	}
	helps := len(holders) == 0 || state.TooFew(state.WithAllStopped(s), holders)
	if unseen := state.UnseenVoters(s); len(unseen) > 0 && helps {
		lost += " The operator did not add " + state.Labels(unseen) + ". If they are lost: " + state.SayStopped(s)
		if !s.Spec.ForcesNewCluster() && len(holders) > 0 && !slices.ContainsFunc(holders, func(m state.Member) bool { return state.InPod(s, m) }) {
			lost += " Then set spec.recovery.quorumLoss to ForceNewCluster, and the operator continues from the member with the newest data."
		}
	}
	return Wait{Reason: v1beta2.ReasonQuorumLost, Message: state.UnlessForeignQuorum(s, lost), Stalled: true}
}

// waysOnWithData is the way out where the data is there, and its members cannot be brought back. It asks for the deletion of data only if
// another member has data, too, and if the operator can then see that quorum is lost.
func waysOnWithData(s state.State, holders []state.Member) string {
	answers := slices.ContainsFunc(holders, func(m state.Member) bool { return m.Answers })
	if slices.ContainsFunc(s.Current(), func(m state.Member) bool { return state.GoesWithPod(s, m) && state.TrustsOldCA(s, m) }) {
		if s.Certificates.RefusingExpired {
			return onlyInPods(s) + "The CA that they trust has expired. To keep the data, do not delete the Pods: stop the container etcd of each one on its node (crictl stop), so that it restarts with the new CA. " + wayOut(s, nil)
		}
		return onlyInPods(s) + "Put the previous CA back into the TLS Secrets. " + wayOut(s, nil)
	}
	if !s.Durable() || slices.ContainsFunc(s.Current(), func(m state.Member) bool { return state.InPod(s, m) }) {
		return wayOut(s, nil)
	}
	if state.WhyExpired(s) != "" {
		return "Keep their PersistentVolumeClaims: with valid certificates, these members may serve again. " + wayOut(s, nil)
	}
	if len(holders) < 2 || (state.KnownVoters(s) == 0 && !answers) {
		return "Keep their PersistentVolumeClaims: the operator knows of no other data of this cluster. " + wayOut(s, nil)
	}
	return "If some of them are lost for good, delete their PersistentVolumeClaims. " + wayOut(s, nil)
}

// onlyInPods says that a restart would delete data, and of which members.
func onlyInPods(s state.State) string {
	if slices.ContainsFunc(s.Current(), func(m state.Member) bool { return state.InPod(s, m) }) {
		return "Their data is in the Pods, and a restart would delete it. "
	}
	only := slices.DeleteFunc(slices.Clone(s.Current()), func(m state.Member) bool { return !state.GoesWithPod(s, m) })
	return "Only the Pods of these members have their data, and a restart would delete it, because their volumes are lost or are being deleted: " +
		strings.Join(state.MemberNames(only), ", ") + ". "
}

// membersHaveHadTheirTime: no member holds data, or all that do have had their time and no quorum came of it.
func membersHaveHadTheirTime(s state.State, holders []state.Member) bool {
	for _, m := range holders {
		grace := state.StartGrace
		if m.Answers {
			grace = state.ElectionGrace(s)
		}
		if !state.UnreadyFor(s, m, grace) {
			return false
		}
	}
	return true
}

// replayGrace is how long etcd may apply its log after its start. Until then the index in its metrics is lower than what it knows: it took 0.3 to
// 1.2 s for 9,000 to 24,000 entries, and etcd keeps up to some 100,000.
const replayGrace = 30 * time.Second

// replays says whether a member's etcd has just started. Its Pod may have waited for its volume and its image before.
func replays(s state.State, m state.Member) bool {
	return !m.EtcdSince.IsZero() && !clock.Ahead(m.EtcdSince, s.Now) && clock.Elapsed(m.EtcdSince, s.Now) <= max(state.ElectionGrace(s), replayGrace)
}

// mute says whether a member has run without a quorum for so long that its metrics show all that it knows, and that it would lead if it were alone.
func mute(s state.State, m state.Member) bool {
	return !replays(s, m) && state.UnreadyFor(s, m, state.ElectionGrace(s))
}
