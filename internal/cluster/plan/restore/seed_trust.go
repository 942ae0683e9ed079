package restore

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// restartSeedForCA restarts a seed that runs with other CAs than its Secrets hold, and does not answer: it may refuse the operator for that reason. No
// other rule restarts a seed. Before the switch its data is in the snapshot, too. Then the old members stop, so the data must be kept.
func restartSeedForCA(s state.State, seed state.Member) steps.Step {
	mayAnswer := seed.Answers || seed.Refusal != etcd.NotRefused || !state.TrustsOldCA(s, seed)
	if mayAnswer || !state.RunsFor(s, seed, state.RecreateGrace) || s.Switching() && !state.KeepsData(s, seed) {
		return nil
	}
	return steps.DeletePod{Name: seed.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "it does not serve, and it must trust the CA that its Secrets hold now"}
}
