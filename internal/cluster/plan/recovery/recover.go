package recovery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
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

// ForceNewCluster restarts the chosen survivor with the flag, alone.
func ForceNewCluster(s state.State) steps.Step {
	if step := forcedBefore(s); step != nil {
		return step
	}
	if s.Forcing() && state.Overruled(s) && s.Recovery.ForcedAt == nil && len(addedSince(s)) > 0 {
		return cancelOfOldStatus(s) // also for an EtcdRestore, members that the cluster went on without do not start
	}
	if !s.Forcing() || state.Overruled(s) {
		return dropFlag(s)
	}
	survivor, exists := state.Find(s, s.Recovery.Member)
	if step := recoveryEnds(s, survivor, exists); step != nil {
		return step
	}
	if !s.Durable() {
		return KeepsSurvivor(survivor)
	}
	if !mayForce(s, survivor) {
		return askSurvivor(s, survivor)
	}
	if step := fence(s, func(m state.Member) bool { return m.Name == survivor.Name }); step != nil {
		return step
	}
	if step := confirmChoice(s, survivor); step != nil {
		return step
	}
	return forceSurvivor(s, survivor)
}

// recoveryEnds cancels a recovery that is not allowed any more, not needed, or not possible. It waits if that cannot be known.
func recoveryEnds(s state.State, survivor state.Member, exists bool) steps.Step {
	flagged := survivor.Start == state.StartForce && survivor.Pod != state.PodNone
	switch {
	case !flagged && state.Guarded(s) && survivor.Guarded && maybeForced(s, survivor):
		return waits.WaitForPermission(s) // the quorum behind the survivor may be itself alone
	case !flagged && (s.MembershipKnown || state.Guarded(s)):
		return steps.CancelRecovery{Message: "A quorum answers." + whatRecoveryChanged(s)}
	case !flagged && state.Unreachable(s):
		return steps.CancelRecovery{Message: "The Pods of a quorum are ready." + whatRecoveryChanged(s)}
	}
	if !maybeForced(s, survivor) {
		if ChoiceIsOld(s, survivor) && len(knowMore(s)) > 0 { // before the fence stops a member that the cluster has got since
			return cancelOfOldChoice(s)
		}
		if step := recoveryDoubted(s); step != nil {
			return step
		}
	}
	if !exists || (survivor.Pod == state.PodNone && !state.KeepsData(s, survivor)) {
		return steps.CancelRecovery{Message: "The volume of survivor " + s.Recovery.Member + " does not exist." + whatRecoveryChanged(s)}
	}
	return nil
}

// recoveryDoubted cancels a recovery whose survivor was not restarted yet, if it is not what the user wants or needs.
func recoveryDoubted(s state.State) steps.Step {
	switch {
	case len(addedSince(s)) > 0:
		return cancelOfOldStatus(s)
	case dataIsBack(s):
		return steps.CancelRecovery{Message: "Enough voters have their data again." + whatRecoveryChanged(s)}
	case !s.Spec.ForcesNewCluster():
		return steps.CancelRecovery{Message: "spec.recovery.quorumLoss no longer allows it." + whatRecoveryChanged(s)}
	case len(state.UnseenVoters(s)) > 0:
		return steps.CancelRecovery{Message: "The annotations do not let it continue any more without members that the operator did not add: " + state.Labels(state.UnseenVoters(s)) + ". They may have newer data." + whatRecoveryChanged(s)}
	}
	return nil
}

// cancelOfOldStatus cancels a recovery that the cluster has left behind.
func cancelOfOldStatus(s state.State) steps.Step {
	return steps.CancelRecovery{Message: fmt.Sprintf("These members were added after it: %s. So the status is an old one, for example from a backup of the API. Their data counts again.",
		strings.Join(state.MemberNames(addedSince(s)), ", "))}
}

// dataIsBack returns whether enough voters have their data to be a quorum, by the record of the voters and by that of the recovery. A person may
// bring volumes back while the recovery waits. These members can continue, because nothing was changed yet.
func dataIsBack(s state.State) bool {
	have := 0
	for _, name := range s.Recovery.Voters {
		if m, there := state.Find(s, name); there && s.HoldsData(m) {
			have++
		}
	}
	return len(s.Recovery.Voters) > 0 && have >= etcd.Quorum(len(s.Recovery.Voters)) && !state.TooFew(s, state.Holders(s))
}

// maybeForced returns whether a member may be a cluster of its own, because it runs or may have run with --force-new-cluster.
func maybeForced(s state.State, m state.Member) bool {
	recorded := s.Forcing() && s.Recovery.ForcedAt != nil && s.Recovery.Member == m.Name
	return recorded || (m.Start == state.StartForce && m.Pod != state.PodNone)
}

// addedSince are the members that the cluster got after the recovery that the status names, and before its survivor was restarted. A recovery adds no
// member before its survivor serves alone, so a status that still forces the survivor is an old one that came back, and the choice of that time does
// not count. A later member may have the name of one from before: it is on a volume that is younger than the recovery. Or the survivor knows it. If a
// person has created the volume meanwhile, the person decides about it before a recovery begins again.
func addedSince(s state.State) []state.Member {
	r := s.Recovery
	return s.Where(func(m state.Member) bool {
		has := s.HoldsData(m) || m.Volume == state.VolumePresent && !m.VolumeUnused // an old status may know its name with another volume
		later := r.StartedAt != nil && m.VolumeCreated.After(r.StartedAt.Time) && has
		voter := s.Witness != "" && slices.Contains(s.KnownVoters, m.Name) && !slices.Contains(r.Voters, m.Name)
		return m.Incarnation == s.Incarnation && m.Name != r.Member && (later || voter)
	})
}

// whatRecoveryChanged ends the message of a recovery that is cancelled.
func whatRecoveryChanged(s state.State) string {
	switch {
	case s.Recovery.ForcedAt == nil && Marked(s, s.Recovery.StartedAt):
		return " No member was restarted alone. PersistentVolumeClaims are marked already, so a person may have to accept them."
	case s.Recovery.ForcedAt == nil:
		return " Nothing was changed."
	}
	return " Survivor " + s.Recovery.Member + " may have run with --force-new-cluster."
}

// forcedBefore records that the survivor is all of the membership, although it runs without the flag: a restore began after it had
// started with the flag, and took that off.
func forcedBefore(s state.State) steps.Step {
	if !s.Forcing() || !s.MembershipKnown {
		return nil
	}
	if m, ok := state.Find(s, s.Recovery.Member); ok && m.Start != state.StartForce && m.Serving && (isAlone(s, m) || withoutEarlierVoters(s, m)) {
		return steps.RecordForced{Revision: m.Revision}
	}
	return nil
}

// withoutEarlierVoters returns whether the survivor votes, and none of the other voters from before is a member any more. Others may
// have been added since.
func withoutEarlierVoters(s state.State, survivor state.Member) bool {
	if s.Recovery.ForcedAt == nil || len(s.Recovery.Voters) < 2 || survivor.Learner || !survivor.InMembership {
		return false
	}
	return !slices.ContainsFunc(s.Membership(), func(m state.Member) bool {
		return m.Name != survivor.Name && slices.Contains(s.Recovery.Voters, m.Name)
	})
}

// CompleteRecovery ends a recovery. It is asked last, so the cluster is at size and well. Once the recovery is complete, a volume that was not set aside is
// deleted like that of any member that was removed. So it is complete only when all of them were seen to be set aside.
func CompleteRecovery(s state.State) steps.Step {
	if s.Recovery == nil || s.Recovery.Step != v1beta2.RecoveryGrowing {
		return nil
	}
	for _, m := range s.Members {
		if m.Volume == state.VolumePresent && s.MembershipKnown && !m.InMembership && state.SetsAside(s, m) {
			return waits.WaitForSetAside(s, m)
		}
	}
	return steps.CompleteRecovery{}
}

// forceSurvivor takes the survivor, when all others are gone, to where it serves alone.
func forceSurvivor(s state.State, m state.Member) steps.Step {
	if stopsUnforced(s, m) {
		if cancel, is := recoveryDoubted(s).(steps.CancelRecovery); is { // its Pod never had the flag
			return steps.CancelRecovery{Message: cancel.Message, NeverForced: true}
		}
	}
	step := survivorPod(s, m, state.StartForce, "it must start once with --force-new-cluster")
	switch {
	case step != nil:
		return step
	case m.Refusal != etcd.NotRefused && !m.Serving:
		return waitForSurvivorsPermission(s, m)
	case !m.Serving || !s.MembershipKnown || !isAlone(s, m):
		return steps.Wait{Reason: v1beta2.ReasonRecovering, Message: "Survivor " + m.Name + " is restarting with --force-new-cluster.", Stalled: state.UnreadyFor(s, m, state.StartGrace)}
	}
	return steps.RecordForced{Revision: m.Revision}
}
