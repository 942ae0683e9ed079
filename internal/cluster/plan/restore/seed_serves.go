package restore

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

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

// orReturn says how to give the restore up, if the old members can continue.
func orReturn(s state.State) string {
	if OldMayContinue(s) {
		return " To return to the old members, delete the EtcdRestore."
	}
	return fewHolders(s) + "."
}
