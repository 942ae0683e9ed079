package restore

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

func seeding(s state.State) steps.Step {
	seed, _ := state.SeedMember(s)
	if step := interrupted(s, seed); step != nil {
		return step
	}
	switch {
	case seed.Pod == state.PodDeleting || (seed.Pod == state.PodNone && seed.Volume == state.VolumeDeleting):
		return waits.WaitUntilGone(s, seed, v1beta2.ReasonRestoring, "An earlier seed is being removed.")
	case seed.Volume == state.VolumeDeleting:
		return steps.DeletePod{Name: seed.Name, Reason: v1beta2.ReasonRestoring, Message: "its volume is being deleted, and the seed must be restored again"}
	case seed.Pod == state.PodNone && s.Durable() && seed.Volume == state.VolumeNone && s.NoStorageClass:
		return waits.NoStorageClass()
	case seed.Pod == state.PodNone:
		return steps.CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: state.StartSeed}
	case seed.SeedFailed() && !isStandby(s):
		return steps.FailRestore{Message: planning.Sentence("The seed could not be restored: ", seed.Seed.Message) + " The cluster was not changed."}
	case seed.Pod == state.PodBlocked:
		return steps.Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The members continue to serve.", Stalled: true}
	case seed.Refusal != etcd.NotRefused:
		return saveBeforeRefusal(s, seed)
	case !seed.Serving || !seed.PodReady:
		return waitForSeedOrStandby(s, seed)
	}
	if step := beforeSwitch(s, seed); step != nil {
		return step
	}
	return steps.BeginSwitch{ClusterID: seed.ClusterID.String(), Revision: seed.Revision}
}

// interrupted returns what ends the work on a seed, or holds it up; nil for nothing.
func interrupted(s state.State, seed state.Member) steps.Step {
	if step := standbyHeld(s, seed); step != nil {
		return step
	}
	if !s.Requested() {
		return steps.FailRestore{Message: state.NotRequested(s) + " The seed had not taken over" + unchanged(s) + useAnotherName(s)}
	}
	if why := anotherClaim(s, seed); why != "" {
		return steps.FailRestore{Message: why + " The cluster was not changed."}
	}
	if step := restartSeedForCA(s, seed); step != nil {
		return step
	}
	if why := seedStuck(s, seed); why != "" {
		return steps.FailRestore{Message: why + " The operator removes the seed. The cluster was not changed."}
	}
	return nil
}

// beforeSwitch returns what must happen before a seed that serves may take over; nil for nothing.
func beforeSwitch(s state.State, seed state.Member) steps.Step {
	if why := seedBehind(s, seed); why != "" && isStandby(s) {
		return steps.Wait{Reason: v1beta2.ReasonRestoring, Stalled: true, Message: why + " The operator keeps the standby."}
	} else if why != "" {
		return steps.FailRestore{Message: why + " The cluster was not changed."}
	}
	if why := heldUp(s); why != "" {
		return steps.FailRestore{Message: why}
	}
	if step := cannotHandOver(s); step != nil {
		return step
	}
	return SafetySnapshot(s)
}

// seedBehind returns why the revision of a seed that serves is too low; empty if it is not.
func seedBehind(s state.State, seed state.Member) string {
	highest := highestRevision(s) // also of what clients have written since the restore began
	switch {
	case seed.Revision < s.Request.Revision:
		return fmt.Sprintf("The seed holds revision %d, but the snapshot holds revision %d.", seed.Revision, s.Request.Revision)
	case s.Restore.RevisionBump > 0 && seed.Revision <= highest:
		return fmt.Sprintf("The seed holds revision %d, but the cluster has had revision %d, so clients would read older revisions. Apply another EtcdRestore with a larger spec.revisionBump.", seed.Revision, highest)
	}
	return ""
}
