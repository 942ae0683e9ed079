package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A recovery from a lost quorum, by consent in the spec:
//
//	 survivor   asked ─── chosen │ stop ── start with the flag ── serves alone │ start without it ── grow to size ──▶ complete
//	 others     asked ─── chosen │ stop, proven gone                           │ removed
//	 volumes    kept ────────────────────────────────────────────────────────────────────────────────▶ those of others deleted
//	 step       │ (none)         │ Forcing                                     │ Growing                            │ Complete
//
// The flag is recorded before the survivor starts with it. From then on the survivor may be a cluster of its own, whatever its
// Pod says later, and the recovery is cancelled only if the survivor's data is lost or a quorum of others answers. If etcd's
// authentication refuses the operator, it cannot tell such a quorum from the survivor alone, so it waits.
//
// The choice is the one thing that cannot be observed again once the others have stopped: the status keeps it. A Pod
// with the flag has it in its command, and is recreated without it before anything else is done, whatever the status says.

// forcing says whether a survivor was chosen that does not serve alone yet.
func (s State) forcing() bool {
	return s.Recovery != nil && s.Recovery.Step == v1beta2.RecoveryForcing
}

// overruled says whether an EtcdRestore was made since, which continues from a snapshot instead.
func (s State) overruled() bool {
	return s.step() == v1beta2.RestoreSeeding || s.switching() || (s.Request != nil && !s.Requested() && !s.tooNew(s.Request.StorageVersion))
}

// forceNewCluster restarts the chosen survivor with the flag, alone.
func forceNewCluster(s State) Step {
	if step := s.forcedBefore(); step != nil {
		return step
	}
	if !s.forcing() || s.overruled() {
		return dropFlag(s)
	}
	survivor, exists := s.member(s.Recovery.Member)
	if step := s.recoveryEnds(survivor, exists); step != nil {
		return step
	}
	if !s.Durable() {
		return keepsSurvivor(survivor)
	}
	if !s.mayForce(survivor) {
		return s.askSurvivor(survivor)
	}
	if step := fence(s, func(m Member) bool { return m.Name == survivor.Name }); step != nil {
		return step
	}
	return s.forceSurvivor(survivor)
}

// recoveryEnds cancels a recovery that is not allowed any more, not needed, or not possible. It waits if that cannot be known.
func (s State) recoveryEnds(survivor Member, exists bool) Step {
	flagged := survivor.Start == StartForce && survivor.Pod != PodNone
	switch {
	case !flagged && s.Guarded() && survivor.Guarded && s.maybeForced(survivor):
		return s.waitForPermission() // the quorum behind the survivor may be itself alone
	case !flagged && (s.MembershipKnown || s.Guarded()):
		return CancelRecovery{Message: "A quorum answers." + s.whatRecoveryChanged()}
	case !flagged && s.unreachable():
		return CancelRecovery{Message: "The Pods of a quorum are ready." + s.whatRecoveryChanged()}
	case !s.maybeForced(survivor) && len(s.addedSince()) > 0:
		return CancelRecovery{Message: fmt.Sprintf("These members were added after it: %s. So the status is an old one, for example from a backup of the API. Their data counts again.",
			strings.Join(memberNames(s.addedSince()), ", "))}
	case !s.maybeForced(survivor) && !s.Spec.ForcesNewCluster():
		return CancelRecovery{Message: "spec.recovery.quorumLoss no longer allows it." + s.whatRecoveryChanged()}
	case !s.maybeForced(survivor) && len(s.unseenVoters()) > 0:
		return CancelRecovery{Message: "The annotations do not let it continue any more without members that the operator did not add: " + labels(s.unseenVoters()) + ". They may have newer data." + s.whatRecoveryChanged()}
	case !exists || (survivor.Pod == PodNone && !s.keepsData(survivor)):
		return CancelRecovery{Message: "The volume of survivor " + s.Recovery.Member + " does not exist." + s.whatRecoveryChanged()}
	}
	return nil
}

// maybeForced returns whether a member may be a cluster of its own, because it runs or may have run with --force-new-cluster.
func (s State) maybeForced(m Member) bool {
	recorded := s.forcing() && s.Recovery.ForcedAt != nil && s.Recovery.Member == m.Name
	return recorded || (m.Start == StartForce && m.Pod != PodNone)
}

// addedSince are the members that the cluster got after the recovery that the status names, and before its survivor was restarted. A recovery adds no
// member before its survivor serves alone, so a status that still forces the survivor is an old one that came back, and the choice of that time does
// not count. A later member may have the name of one from before: it is on a volume that is younger than the recovery. Or the survivor knows it. If a
// person has created the volume meanwhile, the person decides about it before a recovery begins again.
func (s State) addedSince() []Member {
	r := s.Recovery
	return s.where(func(m Member) bool {
		later := r.StartedAt != nil && m.VolumeCreated.After(r.StartedAt.Time) && s.HoldsData(m)
		voter := s.Witness != "" && slices.Contains(s.KnownVoters, m.Name) && !slices.Contains(r.Voters, m.Name)
		return m.Incarnation == s.Incarnation && m.Name != r.Member && (later || voter)
	})
}

// whatRecoveryChanged ends the message of a recovery that is cancelled.
func (s State) whatRecoveryChanged() string {
	if s.Recovery.ForcedAt == nil {
		return " Nothing was changed."
	}
	return " Survivor " + s.Recovery.Member + " may have run with --force-new-cluster."
}

// forcedBefore records that the survivor is all of the membership, although it runs without the flag: a restore began after it had
// started with the flag, and took that off.
func (s State) forcedBefore() Step {
	if !s.forcing() || !s.MembershipKnown {
		return nil
	}
	if m, ok := s.member(s.Recovery.Member); ok && m.Start != StartForce && m.Serving && (s.alone(m) || s.withoutEarlierVoters(m)) {
		return RecordForced{Revision: m.Revision}
	}
	return nil
}

// withoutEarlierVoters returns whether the survivor votes, and none of the other voters from before is a member any more. Others may
// have been added since.
func (s State) withoutEarlierVoters(survivor Member) bool {
	if s.Recovery.ForcedAt == nil || len(s.Recovery.Voters) < 2 || survivor.Learner || !survivor.InMembership {
		return false
	}
	return !slices.ContainsFunc(s.membership(), func(m Member) bool { return m.Name != survivor.Name && slices.Contains(s.Recovery.Voters, m.Name) })
}

// CancelRecovery records that the survivor was not restarted, or is lost.
type CancelRecovery struct{ Message string }

func (step CancelRecovery) describe(State) planning.Description {
	return warned(planning.Description{
		Reason:  v1beta2.ReasonQuorumLost,
		Message: "The recovery is cancelled. " + step.Message,
		Requeue: requeueStarting,
	}, "RecoveryCancelled", "Recover")
}

// forceSurvivor takes the survivor, when all others are gone, to where it serves alone.
func (s State) forceSurvivor(m Member) Step {
	again := DeletePod{Name: m.Name, Reason: v1beta2.ReasonRecovering, Message: "it must start once with --force-new-cluster"}
	switch {
	case s.backsOff(m):
		return s.waitForAttempt([]Member{m})
	case s.startsOnAnother(m):
		return again
	case m.Pod == PodDeleting:
		return s.waitUntilGone(m, v1beta2.ReasonRecovering, "Survivor "+m.Name+" is restarting with --force-new-cluster.")
	case m.Pod == PodNone && s.Recovery.ForcedAt == nil:
		return RecordForcing{Member: m.Name}
	case m.Pod == PodNone:
		return CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: StartForce}
	case s.goesWithPod(m):
		return s.losesSurvivor(m)
	case m.Volume != VolumePresent, m.Start != StartForce, m.Pod == PodEnded:
		return again
	case m.Pod == PodBlocked && (m.Outdated || m.PodImage != s.ImageFor(m.Incarnation)):
		return again
	case m.Pod == PodBlocked:
		return Wait{Reason: m.PodReason, Message: planning.Sentence("Survivor "+m.Name+" does not run: ", m.PodMessage) + " To give it up, delete its PersistentVolumeClaim. To continue from a snapshot, apply an EtcdRestore.", Stalled: true}
	case m.Refusal != etcd.NotRefused && !m.Serving:
		return s.waitForSurvivorsPermission(m)
	case !m.Serving || !s.MembershipKnown || !s.alone(m):
		return Wait{Reason: v1beta2.ReasonRecovering, Message: "Survivor " + m.Name + " is restarting with --force-new-cluster.", Stalled: s.unreadyFor(m, startGrace)}
	}
	return RecordForced{Revision: m.Revision}
}

// RecordForcing records that the survivor is about to start with --force-new-cluster.
type RecordForcing struct{ Member string }

func (step RecordForcing) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: "Survivor " + step.Member + " is about to start with --force-new-cluster.",
		Requeue: requeueSoon,
	}
}

// waitForSurvivorsPermission: the survivor serves alone, and refuses the operator, which cannot prove it.
func (s State) waitForSurvivorsPermission(m Member) Step {
	return Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: requeueSettled,
		Message: "Survivor " + m.Name + " was restarted with --force-new-cluster. " + s.whyRefused(m.Refusal) +
			" The operator cannot see that the survivor serves alone, so the recovery waits, and no client is served. " + s.howToPermit(m.Refusal),
	}
}

// RecordForced records that the survivor served as a cluster of one.
type RecordForced struct{ Revision int64 }

func (step RecordForced) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: fmt.Sprintf("The survivor serves alone at revision %d. The cluster grows from it.", step.Revision),
		Requeue: requeueSoon,
	}, "RecoveryForced", cluster)
}

// alone says whether a member is all of the membership.
func (s State) alone(m Member) bool {
	membership := s.membership()
	return len(membership) == 1 && membership[0].Name == m.Name && !m.Learner && len(s.ForeignMembers) == 0
}

// dropFlag makes a Pod again that was started with --force-new-cluster: restarted in place with it, etcd would drop
// what it had not committed, and later the other members.
func dropFlag(s State) Step {
	for _, m := range s.Current() {
		switch {
		case m.Start != StartForce || m.Pod == PodNone:
		case m.Pod == PodDeleting:
			return s.waitUntilGone(m, v1beta2.ReasonRecovering, "Member "+m.Name+" is restarting without --force-new-cluster.")
		case !s.Durable():
			return keepsSurvivor(m)
		case s.goesWithPod(m):
			return s.losesSurvivor(m)
		default:
			return DeletePod{Name: m.Name, Reason: v1beta2.ReasonRecovering, Message: "it must start without --force-new-cluster"}
		}
	}
	return nil
}

// keepsSurvivor waits if the next Pod of a survivor would be without its data.
func keepsSurvivor(m Member) Step {
	return Wait{
		Reason: v1beta2.ReasonRecovering,
		Message: "The recovery must restart survivor " + m.Name + " with the data on its volume, but spec.pod.emptyDir asks for Pods without volumes. " +
			"The operator stops no Pod. Remove spec.pod.emptyDir until the recovery is complete.",
		Stalled: true,
	}
}

func (s State) losesSurvivor(m Member) Step {
	return Wait{
		Reason: v1beta2.ReasonRecovering,
		Message: "Only the Pod of survivor " + m.Name + " still has its data, because " + cmp.Or(s.volumeLoss(m), volumeGone) + ". The data is lost when the Pod ends. " +
			"Save the data first with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot. To give the data up, delete the Pod.",
		Stalled: true,
	}
}

// BeginRecovery records the survivor that the cluster continues from.
type BeginRecovery struct {
	Member              string
	RaftIndex, RaftTerm uint64
}

func (step BeginRecovery) describe(State) planning.Description {
	return warned(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: fmt.Sprintf("Quorum is lost. As spec.recovery.quorumLoss asks, the cluster continues from member %s, which has the newest data (raft index %d, term %d).", step.Member, step.RaftIndex, step.RaftTerm),
		Requeue: requeueSoon,
	}, "RecoveryStarted", "Recover")
}

// lostQuorum: too few voters hold data ever to agree again. Without consent nothing is changed. With it, all that
// hold data are asked, and the one that knows most is chosen.
func (s State) lostQuorum(holders []Member, known int) Step {
	lost := s.unlessForeignQuorum(fmt.Sprintf("Quorum is lost: %d of %d voters have their data, and %d are needed. etcd accepts no writes.", len(holders), known, etcd.Quorum(known)) + s.sourceOfVoters())
	lost += s.saysOtherVolumes(len(holders) == 0)
	if !s.Spec.ForcesNewCluster() || slices.ContainsFunc(holders, s.inPod) || len(holders) == 0 {
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " The operator removes nothing. " + s.wayOut(holders), Stalled: true}
	}
	if others := s.others(); len(others) > 0 {
		return s.waitForOthers(others, lost)
	}
	if unseen := s.unseenVoters(); len(unseen) > 0 {
		return Wait{
			Reason: v1beta2.ReasonQuorumLost, Stalled: true,
			Message: lost + " The operator cannot see whether members that it did not add have newer data: " + labels(unseen) + ". To continue without them: " + s.sayStopped(),
		}
	}
	if wait := s.waitForForeignElection(holders, lost); wait != nil {
		return wait
	}
	if step := fence(s, s.HoldsData); step != nil {
		return step
	}
	holders = append(slices.Clone(holders), s.unlisted()...)
	for _, m := range holders {
		if wait := s.unasked(m, lost, len(holders) > 1); wait != nil {
			return wait
		}
	}
	survivor := slices.MaxFunc(holders, compareKnowledge)
	if s.goesWithPod(survivor) {
		return s.losesSurvivor(survivor)
	}
	if wait := s.waitForFormerLearner(survivor, lost); wait != nil {
		return wait
	}
	return BeginRecovery{Member: survivor.Name, RaftIndex: survivor.RaftIndex, RaftTerm: survivor.RaftTerm}
}

// waitForFormerLearner waits for a person if a member that the status has as a learner knows more than the survivor. The status may be an old one,
// and the member may vote since, so that it has acknowledged writes. A learner that etcd still takes for one cannot continue alone.
func (s State) waitForFormerLearner(survivor Member, lost string) Step {
	for _, m := range s.Current() {
		if s.Witness == "" && s.HoldsData(m) && !m.saidLearner() && slices.Contains(s.KnownLearners, m.Name) && m.RaftIndex > survivor.RaftIndex {
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
func (s State) waitForForeignElection(holders []Member, lost string) Step {
	completes := s.foreignVoters() > 0 || s.mayBeQuorum(s.ForeignMembers, len(holders))
	if !completes || !slices.ContainsFunc(holders, func(m Member) bool { return !s.unreadyFor(m, startGrace) }) {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: fmt.Sprintf("%s Members that the operator did not add may still complete a quorum. If none answers, the operator continues without them once its members have been unready for %s.", lost, startGrace),
	}
}

// QuorumLost says whether quorum is lost and does not come back by itself.
func (s State) QuorumLost() bool {
	switch step := waitForQuorum(s).(type) {
	case BeginRecovery, DeletePod:
		return true
	case Wait:
		return step.Reason == v1beta2.ReasonQuorumLost || step.Reason == v1beta2.ReasonRecovering
	}
	return s.forcing()
}

// requeueUnasked is the interval at which a member without a quorum is asked what it knows. Its Pod does not become ready,
// so no watch reports that it answers.
const requeueUnasked = time.Second

// unasked says what is in the way of asking a member that holds data how much it knows: nobody is passed over that
// may know more.
func (s State) unasked(m Member, lost string, others bool) Step {
	giveUp := " To continue without this member, delete its PersistentVolumeClaim."
	keep := "PersistentVolumeClaim"
	if s.goesWithPod(m) {
		keep = "Pod"
		giveUp = " To continue without this member, delete its Pod."
	}
	if !others {
		giveUp = " Keep its " + keep + ": no other voter has its data. " + s.wayOut(nil)
	}
	const mustCompare = " The operator must compare it with the others first."
	if m.RaftIndex == 0 && m.Unanswered != "" && m.Pod == PodRunning { // something is there, so its data is not to be given up
		giveUp = planning.Sentence(" The answer was: ", m.Unanswered)
	}
	switch {
	case m.Pod == PodDeleting:
		return s.waitUntilGone(m, v1beta2.ReasonQuorumLost, lost+" Member "+m.Name+" is stopping.")
	case m.Pod == PodBlocked:
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: planning.Sentence(lost+" Member "+m.Name+" holds data, but does not run: ", m.PodMessage) + mustCompare + giveUp, Stalled: true}
	case m.ClusterID != 0 && m.ClusterID.String() != s.ClusterID:
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " Member " + m.Name + " belongs to another cluster (" + m.ClusterID.String() + ")." + giveUp, Stalled: true}
	case m.RaftIndex == 0, !m.Answers && !s.mute(m):
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: lost + " Member " + m.Name + " holds data, but has not answered yet." + mustCompare + giveUp, Stalled: s.unreadyFor(m, startGrace), Requeue: requeueUnasked}
	}
	return nil
}

// compareKnowledge orders survivors by what would be left after --force-new-cluster: all that a member knows to be
// committed, and nothing else. So the committed index comes first; a term alone may come of a vain candidacy.
func compareKnowledge(a, b Member) int {
	return cmp.Or(cmp.Compare(a.RaftIndex, b.RaftIndex), cmp.Compare(a.RaftTerm, b.RaftTerm), strings.Compare(b.Name, a.Name))
}

// wayOut of a lost quorum. A restore that is under way must go before another is taken up.
func (s State) wayOut(holders []Member) string {
	restore := "To continue from a snapshot, apply an EtcdRestore."
	if s.step() == v1beta2.RestoreGrowing {
		restore = "To continue from a snapshot, delete EtcdRestore " + s.Restore.Name + " and apply another."
	}
	if n := len(s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && m.Volume == VolumePresent && !m.VolumeUnused
	})); n > 0 && !s.Durable() {
		return fmt.Sprintf("%d members have their data on volumes. To start them, remove spec.pod.emptyDir. %s", n, restore)
	}
	if !slices.ContainsFunc(holders, s.inPod) && len(holders) > 0 && !s.Spec.ForcesNewCluster() {
		return "Bring back the same volumes, not copies: a copy can lack writes that etcd has acknowledged. Or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. " + restore
	}
	return restore
}

// completeRecovery: asked last, so the cluster is at size and well. Once the recovery is complete, a volume that was not set aside is
// deleted like that of any member that was removed. So it is complete only when all of them were seen to be set aside.
func completeRecovery(s State) Step {
	if s.Recovery == nil || s.Recovery.Step != v1beta2.RecoveryGrowing {
		return nil
	}
	for _, m := range s.Members {
		if m.Volume == VolumePresent && s.MembershipKnown && !m.InMembership && s.setsAside(m) {
			return s.waitForSetAside(m)
		}
	}
	return CompleteRecovery{}
}

// CompleteRecovery records that the cluster is at size again.
type CompleteRecovery struct{}

func (CompleteRecovery) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRecovering,
		Message: "The recovered cluster serves at its full size.",
		Requeue: requeueSoon,
	}, "RecoveryComplete", cluster)
}

// Member returns a member of any incarnation by its name.
func (s State) Member(name string) (Member, bool) { return s.member(name) }

// member by its name.
func (s State) member(name string) (Member, bool) {
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{Name: name}, false
}
