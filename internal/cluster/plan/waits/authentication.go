package waits

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// WaitForPermission waits until the operator is permitted: etcd serves, and the operator may neither look nor change anything.
func WaitForPermission(s state.State) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
		Message: "A quorum of the members serves. " + state.WhyRefused(s, state.Refusal(s, s.Incarnation)) + " The operator cannot heal, resize or upgrade the cluster, and backups fail. " + state.HowToPermit(s, state.Refusal(s, s.Incarnation)),
	}
}
