package restore

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// adoptSeed makes the seed the cluster. It is read-only before, if the spec asks for that.
func adoptSeed(s state.State) steps.Step {
	if step := waits.FenceSeed(s); step != nil {
		return step
	}
	return steps.AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// oldRun reports whether old members must be asked to stop before the seed takes over. A Pod that has ended is no reason to wait: if
// the API server refuses to delete its object, clients would wait, too. Neither are voters that are too few for a quorum: they
// acknowledge no write. The API server may have deleted the others, and then refuse these. They are deleted after the switch.
func oldRun(s state.State) bool {
	voters := oldRunning(s)
	asked := !slices.ContainsFunc(voters, func(m state.Member) bool { return m.Pod != state.PodDeleting })
	return !asked && HaveQuorum(trusting(s), voters)
}

// oldRunning returns the voters of the old cluster whose Pods may run.
func oldRunning(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool {
		return mayVote(s, m) && m.Pod != state.PodNone && m.Pod != state.PodEnded && !m.Stopped
	})
}

// seedServes returns nil if the proven seed serves. If its data is lost, it is restored again. If that is not possible, the old members
// continue with their data.
func seedServes(s state.State) steps.Step {
	seed, _ := state.SeedMember(s)
	if step := restartSeedForCA(s, seed); step != nil {
		return step
	}
	why := seedStuck(s, seed)
	switch {
	case why != "":
		return keepSeed(s, seed, why)
	case seed.Pod == state.PodNone || seed.Pod == state.PodDeleting:
		return recreateSeed(s, seed)
	case seed.Pod == state.PodBlocked && state.Cancelled(s):
		return keepSeed(s, seed, "The seed does not start. "+state.NotRequested(s))
	case seed.SeedFailed():
		return failSwitch(s, planning.Sentence("The seed was lost, and could not be restored again: ", seed.Seed.Message))
	case state.BacksOff(s, seed):
		return waits.WaitForAttempt(s, []state.Member{seed})
	case seed.Pod == state.PodBlocked:
		return steps.Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The restore continues when it serves.", Stalled: true}
	case !seed.Serving:
		return steps.Wait{Reason: v1beta2.ReasonRestoring, Message: planning.Sentence("Seed "+seed.Name+" does not serve: ", seed.Cause())}
	case seed.Revision < s.Restore.Revision:
		return keepSeed(s, seed, fmt.Sprintf("The seed was lost. After another restore it holds revision %d instead of %d.", seed.Revision, s.Restore.Revision))
	}
	return nil
}

// orReturn says how to give the restore up, if the old members can continue.
func orReturn(s state.State) string {
	if OldMayContinue(s) {
		return " To return to the old members, delete the EtcdRestore."
	}
	return fewHolders(s) + "."
}

// recreateSeed makes the Pod of a proven seed again, on its volume where that is still there.
func recreateSeed(s state.State, seed state.Member) steps.Step {
	create := steps.CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: state.StartSeed}
	switch {
	case seed.Pod == state.PodDeleting || seed.Volume == state.VolumeDeleting:
		return waits.WaitUntilGone(s, seed, v1beta2.ReasonRestoring, "Seed "+seed.Name+" is being recreated.")
	case seed.Volume == state.VolumePresent && !s.Requested():
		create.Start = state.StartRejoin
		return create
	case state.Cancelled(s):
		return failSwitch(s, "The seed was lost. "+state.NotRequested(s))
	case !s.Requested():
		return steps.Wait{
			Reason: v1beta2.ReasonRestoring, Stalled: true,
			Message: "The seed was lost. " + state.NotRequested(s) + " The operator restores the seed again when restore-operator has verified it." + orReturn(s),
		}
	case seed.Volume == state.VolumeNone && s.Durable() && s.NoStorageClass:
		return waits.NoStorageClass()
	}
	return create // data that is complete is kept
}

// OldQuorumRuns reports whether a quorum of the old voters runs, and none of it was asked to stop. A restore that is not asked for any more
// leaves voters alone that may start again, too. Foreign voters alone are no reason to return.
func OldQuorumRuns(s state.State) bool {
	running := slices.DeleteFunc(slices.Clone(oldRunning(s)), func(m state.Member) bool {
		return m.Pod == state.PodDeleting || m.Pod != state.PodRunning && s.Requested()
	})
	return len(running) > 0 && HaveQuorum(s, running)
}

// InTheWay says which old member is in the way of a step that lets the seed replace the old members, or that returns to the time before
// they stopped; empty if none is. The State has the Pods as a read past the cache shows them.
func InTheWay(s state.State, step steps.Step) string {
	old := s.Where(func(m state.Member) bool {
		return m.Incarnation != s.Restore.Incarnation && m.Pod != state.PodNone && m.Pod != state.PodEnded
	})
	beside := func(m state.Member) string { return "the old member " + m.Name + " may run beside the seed" }
	switch step.(type) {
	case steps.ReturnToSeeding:
		if !OldQuorumRuns(s) {
			return "the old members stop"
		}
	case steps.BeginSwitch:
		if len(old) > 0 && cannotHandOver(s) != nil {
			return beside(old[0])
		}
	case steps.AdoptSeed:
		if WritesFenced(s) {
			return ""
		}
		if voters := oldRunning(s); oldRun(s) {
			return beside(voters[0])
		}
		if len(old) > 0 && OldMemberStops(s) != nil {
			return beside(old[0])
		}
		if foreignQuorum(s) != nil {
			return "voters that the operator did not add may run beside the seed"
		}
	}
	return ""
}
