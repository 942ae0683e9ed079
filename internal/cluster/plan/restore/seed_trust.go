package restore

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// restartSeedForCA restarts a seed that may refuse the operator because of its CA. Before the switch its data is in the snapshot, too, but for that of
// a standby. Then the old members stop, so the data must be kept.
func restartSeedForCA(s state.State, seed state.Member) steps.Step {
	if !state.SilentWithOldCA(s, seed) || (s.Switching() || isStandby(s)) && !state.KeepsData(s, seed) {
		return nil
	}
	return steps.DeletePod{Name: seed.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "it does not serve, and it must trust the CA that its Secrets hold now"}
}
