package restore

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// waitForSeed waits until a seed serves, or until its Pod is created again after it failed.
func waitForSeed(s state.State, seed state.Member) steps.Step {
	if wait := waits.WaitForAttempt(s, []state.Member{seed}); wait != nil {
		return wait
	}
	progress := int64(0)
	if seed.Seed != nil {
		progress = int64(seed.Seed.Percent)
	}
	return steps.Wait{
		Reason: v1beta2.ReasonRestoring, Message: "Seed " + seed.Name + " is being restored. The members continue to serve.",
		Limit: state.SlowWaitLimit, Progress: progress,
		Advice: "Read the log of its init container: kubectl logs " + seed.Name + " --all-containers. To cancel, delete the EtcdRestore.",
	}
}

// unchanged ends the sentence that a seed had not taken over. If the members have no data, or too few have it, nothing continues.
func unchanged(s state.State) string {
	if s.Formed() && OldMayContinue(s) {
		return "." + OldContinue
	}
	return ", so the cluster was not changed."
}
