package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// clusterReportsThisRestore follows the report of cluster-operator.
func clusterReportsThisRestore(s state.State) steps.Step {
	progress := s.Progress()
	if progress == nil {
		return nil
	}
	switch progress.Step {
	case v1beta2.RestoreComplete:
		return steps.Complete{Cluster: *progress}
	case v1beta2.RestoreFailed:
		message := progress.Message
		if message == "" {
			message = "The seed failed. The cluster was not changed."
		}
		return steps.Fail{Reason: v1beta2.ReasonSeedFailed, Message: message}
	}
	return steps.Follow{Cluster: *progress}
}
