package recovery

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// WaitForQuorum waits for a quorum. Without one etcd changes nothing, and neither does the operator.
func WaitForQuorum(s state.State) steps.Step {
	if !s.Formed() || s.MembershipKnown {
		return nil
	}
	if state.Guarded(s) {
		return waits.WaitForPermission(s)
	}
	if state.Unreachable(s) {
		return waitUntilReachable(s)
	}
	if wait := WaitForMarked(s); wait != nil {
		return wait
	}
	holders := state.Holders(s)
	if state.TooFew(s, holders) {
		return lostQuorum(s, holders, state.KnownVoters(s))
	}
	if wait := waits.WaitForAttempt(s, s.Current()); wait != nil {
		return wait
	}
	if wait, is := waits.Blocked(s, holders).(steps.Wait); is {
		return withOneHeldUp(s, wait, holders)
	}
	if i := slices.IndexFunc(holders, func(m state.Member) bool { return state.Overdue(s, m) }); i >= 0 {
		return waits.WaitUntilGone(s, holders[i], "", "")
	}
	if membersHaveHadTheirTime(s, holders) {
		return noQuorumInTime(s, holders)
	}
	message := "No quorum answers."
	if names := state.Unanswered(holders); names != "" {
		message += planning.Sentence(" Members that hold data are running or starting: ", names)
	}
	return steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: message + readyWithOtherCAs(s)}
}

// noQuorumInTime reports that the members with data formed no quorum in time. If no member has data, it reports that instead: the
// status was lost, too, so the operator does not know how many voters there were.
func noQuorumInTime(s state.State, holders []state.Member) steps.Step {
	ways := startedWithOtherCAs(s) // also a member of etcd 3.4 that serves does not answer then
	if ways == "" || slices.ContainsFunc(s.Current(), func(m state.Member) bool { return state.GoesWithPod(s, m) }) {
		ways = " " + waysOnWithData(s, holders)
	}
	lost := "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + state.Unanswered(holders) +
		". The operator removes nothing." + sourceOfVoters(s) + state.WhyPeersRefuse(s) + state.WhyExpired(s) + " Recover these members." + ways
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
	return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: state.UnlessForeignQuorum(s, lost), Stalled: true}
}

// QuorumLost says whether quorum is lost and does not come back by itself.
func QuorumLost(s state.State) bool {
	switch step := WaitForQuorum(s).(type) {
	case steps.BeginRecovery, steps.DeletePod:
		return true
	case steps.Wait:
		return step.Reason == v1beta2.ReasonQuorumLost || step.Reason == v1beta2.ReasonRecovering
	}
	return s.Forcing()
}
