package lifecycle

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// AdviseOfPod reports that a member could not be created again. The members that run are not affected.
func AdviseOfPod(s state.State) steps.Step {
	if s.PodProblem == "" {
		return nil
	}
	return steps.Advice{
		Reason:  v1beta2.ReasonPodRefused,
		Message: "The members serve, but if the Pod of one of them is lost, the operator cannot replace it. " + s.PodProblem + " The operator checks this every 5 minutes, and after each change of the spec.",
	}
}
