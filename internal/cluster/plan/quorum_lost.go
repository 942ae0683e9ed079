package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginRecovery records the survivor that the cluster continues from.
type BeginRecovery struct {
	Member              string
	RaftIndex, RaftTerm uint64
}

func (step BeginRecovery) describe(state.State) planning.Description {
	return warned(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: fmt.Sprintf("Quorum is lost. As spec.recovery.quorumLoss asks, the cluster continues from member %s, which has the newest data (raft index %d, term %d).", step.Member, step.RaftIndex, step.RaftTerm),
		Requeue: state.RequeueSoon,
	}, "RecoveryStarted", "Recover")
}

// lostQuorum: too few voters hold data ever to agree again. Without consent nothing is changed. With it, all that
// hold data are asked, and the one that knows most is chosen.
func lostQuorum(s state.State, holders []state.Member, known int) Step {
	lost := state.UnlessForeignQuorum(s, fmt.Sprintf("Quorum is lost: %d of %d voters have their data, and %d are needed. etcd accepts no writes.", len(holders), known, etcd.Quorum(known))+sourceOfVoters(s))
	lost += state.SaysOtherVolumes(s, len(holders) == 0) + saysContinuedWithout(s)
	if !s.Spec.ForcesNewCluster() || slices.ContainsFunc(holders, func(m state.Member) bool { return state.InPod(s, m) }) || len(holders) == 0 {
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " The operator removes nothing. " + wayOut(s, holders), Stalled: true}
	}
	if step := waitForOthers(s, lost); step != nil {
		return step
	}
	if wait := waitForDoubt(s, lost); wait != nil {
		return wait
	}
	if unseen := state.UnseenVoters(s); len(unseen) > 0 {
		return Wait{
			Reason: v1beta2.ReasonQuorumLost, Stalled: true,
			Message: lost + " The operator cannot see whether members that it did not add have newer data: " + state.Labels(unseen) + ". To continue without them: " + state.SayStopped(s),
		}
	}
	if wait := waitForForeignElection(s, holders, lost); wait != nil {
		return wait
	}
	if step := fence(s, s.HoldsData); step != nil {
		return step
	}
	holders = append(slices.Clone(holders), unlisted(s)...)
	for _, m := range holders {
		if wait := unasked(s, m, lost, len(holders) > 1); wait != nil {
			return wait
		}
	}
	survivor := slices.MaxFunc(holders, compareKnowledge)
	if state.GoesWithPod(s, survivor) {
		return losesSurvivor(s, survivor)
	}
	if wait := waitForFormerLearner(s, survivor, lost); wait != nil {
		return wait
	}
	return BeginRecovery{Member: survivor.Name, RaftIndex: survivor.RaftIndex, RaftTerm: survivor.RaftTerm}
}

// waitForFormerLearner waits for a person if a member that the status has as a learner knows more than the survivor. The status may be an old one,
// and the member may vote since, so that it has acknowledged writes. A learner that etcd still takes for one cannot continue alone.
func waitForFormerLearner(s state.State, survivor state.Member, lost string) Step {
	for _, m := range s.Current() {
		if s.Witness == "" && s.HoldsData(m) && !m.SaidLearner() && slices.Contains(s.KnownLearners, m.Name) && m.RaftIndex > survivor.RaftIndex {
			return Wait{
				Reason: v1beta2.ReasonQuorumLost, Stalled: true,
				Message: fmt.Sprintf("%s Member %s knows more (raft index %d) than member %s (%d), which has the newest data of the voters. The status says that %s is a learner. "+
					"If the status is an old one, it may vote by now, and have writes that etcd has acknowledged. To continue without it, keep the data of its volume, and delete its PersistentVolumeClaim. To continue from a snapshot, apply an EtcdRestore.",
					lost, m.Name, m.RaftIndex, survivor.Name, survivor.RaftIndex, m.Name),
			}
		}
	}
	return nil
}

// waitForForeignElection gives an election its time before the operator continues without foreign voters, although the user
// consents: together with them the members that hold data may be a quorum.
func waitForForeignElection(s state.State, holders []state.Member, lost string) Step {
	completes := state.ForeignVoters(s) > 0 || state.MayBeQuorum(s, s.ForeignMembers, len(holders))
	if !completes || !slices.ContainsFunc(holders, func(m state.Member) bool { return !state.UnreadyFor(s, m, state.StartGrace) }) {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: fmt.Sprintf("%s Members that the operator did not add may still complete a quorum. If none answers, the operator continues without them once its members have been unready for %s.", lost, state.StartGrace),
	}
}

// QuorumLost says whether quorum is lost and does not come back by itself.
func QuorumLost(s state.State) bool {
	switch step := waitForQuorum(s).(type) {
	case BeginRecovery, DeletePod:
		return true
	case Wait:
		return step.Reason == v1beta2.ReasonQuorumLost || step.Reason == v1beta2.ReasonRecovering
	}
	return s.Forcing()
}

// requeueUnasked is the interval at which a member without a quorum is asked what it knows. Its Pod does not become ready,
// so no watch reports that it answers.
const requeueUnasked = time.Second

// unasked says what is in the way of asking a member that holds data how much it knows: nobody is passed over that
// may know more.
func unasked(s state.State, m state.Member, lost string, others bool) Step {
	giveUp := " To continue without this member, delete its PersistentVolumeClaim."
	keep := "PersistentVolumeClaim"
	if state.GoesWithPod(s, m) {
		keep = "Pod"
		giveUp = " To continue without this member, delete its Pod."
	}
	if !others {
		giveUp = " Keep its " + keep + ": no other voter has its data. " + wayOut(s, nil)
	}
	const mustCompare = " The operator must compare it with the others first."
	if m.RaftIndex == 0 && m.Unanswered != "" && m.Pod == state.PodRunning { // something is there, so its data is not to be given up
		giveUp = planning.Sentence(" The answer was: ", m.Unanswered)
	}
	switch {
	case m.Pod == state.PodDeleting:
		return waitUntilGone(s, m, v1beta2.ReasonQuorumLost, lost+" Member "+m.Name+" is stopping.")
	case m.Pod == state.PodBlocked:
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: planning.Sentence(lost+" Member "+m.Name+" holds data, but does not run: ", m.PodMessage) + mustCompare + giveUp, Stalled: true}
	case m.ClusterID != 0 && m.ClusterID.String() != s.ClusterID:
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " Member " + m.Name + " belongs to another cluster (" + m.ClusterID.String() + ")." + giveUp, Stalled: true}
	case m.RaftIndex == 0, !m.Answers && !mute(s, m):
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " Member " + m.Name + " holds data, but has not answered yet." + mustCompare + giveUp, Stalled: state.UnreadyFor(s, m, state.StartGrace), Requeue: requeueUnasked}
	}
	return nil
}

// compareKnowledge orders survivors by what would be left after --force-new-cluster: all that a member knows to be
// committed, and nothing else. So the committed index comes first; a term alone may come of a vain candidacy.
func compareKnowledge(a, b state.Member) int {
	return cmp.Or(cmp.Compare(a.RaftIndex, b.RaftIndex), cmp.Compare(a.RaftTerm, b.RaftTerm), strings.Compare(b.Name, a.Name))
}

// wayOut of a lost quorum. A restore that is under way must go before another is taken up.
func wayOut(s state.State, holders []state.Member) string {
	restore := "To continue from a snapshot, apply an EtcdRestore."
	if state.RestoreStep(s) == v1beta2.RestoreGrowing {
		restore = "To continue from a snapshot, delete EtcdRestore " + s.Restore.Name + " and apply another."
	}
	if n := len(s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && m.Volume == state.VolumePresent && !m.VolumeUnused
	})); n > 0 && !s.Durable() {
		return fmt.Sprintf("%d members have their data on volumes. To start them, remove spec.pod.emptyDir. %s", n, restore)
	}
	if !slices.ContainsFunc(holders, func(m state.Member) bool { return state.InPod(s, m) }) && len(holders) > 0 && !s.Spec.ForcesNewCluster() {
		return "Bring back the same volumes, not copies: a copy can lack writes that etcd has acknowledged. Or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. " + restore
	}
	return restore
}
