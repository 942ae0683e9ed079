package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// lostQuorum: too few voters hold data ever to agree again. Without consent nothing is changed. With it, all that
// hold data are asked, and the one that knows most is chosen.
func lostQuorum(s state.State, holders []state.Member, known int) steps.Step {
	lost := state.UnlessForeignQuorum(s, fmt.Sprintf("Quorum is lost: %d of %d voters have their data, and %d are needed. etcd accepts no writes.", len(holders), known, etcd.Quorum(known))+sourceOfVoters(s))
	lost += state.SaysOtherVolumes(s, len(holders) == 0) + saysContinuedWithout(s)
	if !s.Spec.ForcesNewCluster() || slices.ContainsFunc(holders, func(m state.Member) bool { return state.InPod(s, m) }) || len(holders) == 0 {
		return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " The operator removes nothing. " + wayOut(s, holders), Stalled: true}
	}
	if step := waits.WaitForOthers(s, lost); step != nil {
		return step
	}
	if wait := waitForDoubt(s, lost); wait != nil {
		return wait
	}
	if unseen := state.UnseenVoters(s); len(unseen) > 0 {
		return steps.Wait{
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
	holders = append(slices.Clone(holders), Unlisted(s)...)
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
	return steps.BeginRecovery{Member: survivor.Name, RaftIndex: survivor.RaftIndex, RaftTerm: survivor.RaftTerm}
}

// waitForFormerLearner waits for a person if a member that the status has as a learner knows more than the survivor. The status may be an old one,
// and the member may vote since, so that it has acknowledged writes. A learner that etcd still takes for one cannot continue alone.
func waitForFormerLearner(s state.State, survivor state.Member, lost string) steps.Step {
	for _, m := range s.Current() {
		if s.Witness == "" && s.HoldsData(m) && !m.SaidLearner() && slices.Contains(s.KnownLearners, m.Name) && m.RaftIndex > survivor.RaftIndex {
			return steps.Wait{
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
func waitForForeignElection(s state.State, holders []state.Member, lost string) steps.Step {
	completes := state.ForeignVoters(s) > 0 || state.MayBeQuorum(s, s.ForeignMembers, len(holders))
	if !completes || !slices.ContainsFunc(holders, func(m state.Member) bool { return !state.UnreadyFor(s, m, state.StartGrace) }) {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: fmt.Sprintf("%s Members that the operator did not add may still complete a quorum. If none answers, the operator continues without them once its members have been unready for %s.", lost, state.StartGrace),
	}
}

// RequeueUnasked is the interval at which a member without a quorum is asked what it knows. Its Pod does not become ready,
// so no watch reports that it answers.
const RequeueUnasked = time.Second

// unasked says what is in the way of asking a member that holds data how much it knows: nobody is passed over that
// may know more.
func unasked(s state.State, m state.Member, lost string, others bool) steps.Step {
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
		return waits.WaitUntilGone(s, m, v1beta2.ReasonQuorumLost, lost+" Member "+m.Name+" is stopping.")
	case m.Pod == state.PodBlocked:
		return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: planning.Sentence(lost+" Member "+m.Name+" holds data, but does not run: ", m.PodMessage) + mustCompare + giveUp, Stalled: true}
	case m.ClusterID != 0 && m.ClusterID.String() != s.ClusterID:
		return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " Member " + m.Name + " belongs to another cluster (" + m.ClusterID.String() + ")." + giveUp, Stalled: true}
	case m.RaftIndex == 0, !m.Answers && !mute(s, m):
		return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " Member " + m.Name + " holds data, but has not answered yet." + mustCompare + giveUp, Stalled: state.UnreadyFor(s, m, state.StartGrace), Requeue: RequeueUnasked}
	}
	return nil
}

// compareKnowledge orders survivors by what would be left after --force-new-cluster: all that a member knows to be
// committed, and nothing else. So the committed index comes first; a term alone may come of a vain candidacy.
func compareKnowledge(a, b state.Member) int {
	return cmp.Or(cmp.Compare(a.RaftIndex, b.RaftIndex), cmp.Compare(a.RaftTerm, b.RaftTerm), strings.Compare(b.Name, a.Name))
}

// confirmChoice asks the survivor once more, if the choice is recorded since longer than forceWindow and the survivor is yet to be restarted. The
// status may be an old one, and the cluster may have gone on from this survivor with others. Then the survivor knows of more than when it was chosen:
// without a quorum it learns nothing, so it has seen one since.
func confirmChoice(s state.State, m state.Member) steps.Step {
	if !ChoiceIsOld(s, m) {
		return nil
	}
	if step := survivorPod(s, m, state.StartRejoin, "its data must say whether it is as it was when the recovery began"); step != nil {
		return step
	}
	switch {
	case len(knowMore(s)) > 0:
		return cancelOfOldChoice(s)
	case m.Pod == state.PodRunning && (m.Answers || m.RaftIndex > 0 && mute(s, m)):
		return steps.RecordForcing{Member: m.Name}
	case m.Refusal != etcd.NotRefused:
		return steps.Wait{Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
			Message: "The operator cannot ask survivor " + m.Name + " how much it knows. " + state.WhyRefused(s, m.Refusal) + " Until then, it starts no other member. " + state.HowToPermit(s, m.Refusal)}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonRecovering, Stalled: state.UnreadyFor(s, m, state.StartGrace), Requeue: RequeueUnasked,
		Message: "The operator asks survivor " + m.Name + " whether it is as it was when it was chosen. After that, the survivor restarts with --force-new-cluster.",
	}
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
