package restore

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// adoptSeed makes the seed the cluster. It is read-only before, if the spec asks for that.
func adoptSeed(s state.State) steps.Step {
	if step := waits.FenceSeed(s); step != nil {
		return step
	}
	return steps.AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// switching fences the old members, or stops them if no quorum of them answers, and then the seed is the cluster. While they can be a
// quorum, they stop only for a seed that serves.
func switching(s state.State) steps.Step {
	if step := reconsider(s); step != nil {
		return step
	}
	notYet, run := seedServes(s), oldRun(s)
	if run && notYet == nil {
		if step := fenceOld(s); step != nil {
			return step
		}
	}
	if notYet == nil {
		if step := exactSnapshot(s); step != nil {
			return step
		}
	}
	if notYet == nil && WritesFenced(s) {
		return adoptSeed(s)
	}
	if run && notYet == nil {
		if step := cannotHandOver(s); step != nil && OldQuorumRuns(s) {
			return step // nothing was stopped yet
		}
		return steps.StopMembers{Except: s.Restore.Incarnation}
	}
	if step := OldMemberStops(s); !run && step != nil {
		return step
	}
	if notYet != nil {
		return notYet
	}
	if step := foreignQuorum(s); step != nil {
		return step
	}
	return adoptSeed(s)
}

// reconsider returns to Seeding if a quorum of the old members may have served since the switch was recorded, because the cluster was paused
// or the operator did not run. Then the safety snapshot lacks their writes, the seed's revision is too low by now, or the operator cannot
// stop a quorum any more. It also returns if the EtcdRestore was deleted: that cancels the restore, also if the members do not answer. If
// it has lost its status, a quorum that serves ends the restore, too: its writes would be lost later. One that does not serve waits.
func reconsider(s state.State) steps.Step {
	seed, _ := state.SeedMember(s)
	unknown, _ := state.QuorumUnknown(s)
	serves := s.MembershipKnown || state.Guarded(s) || unknown
	switch {
	case !OldQuorumRuns(s) || !serves && s.Requested():
		return nil
	case s.RestoreUnverified && !serves:
		return steps.Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: state.NotRequested(s) + " The operator stops no member until restore-operator has verified it again. To cancel, delete the EtcdRestore."}
	case s.Requested() && (!seed.Serving || (seedBehind(s, seed) == "" && SafetySnapshot(s) == nil && cannotHandOver(s) == nil)):
		return nil
	}
	return steps.ReturnToSeeding{}
}
