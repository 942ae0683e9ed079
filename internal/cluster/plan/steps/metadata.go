package steps

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ApplyMetadata sets the labels and annotations of spec.metadata on an object.
type ApplyMetadata struct{ Kind, Name string }

func (step ApplyMetadata) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is setting the labels and annotations of " + step.Kind + " " + step.Name + " to those of spec.metadata.",
		Requeue: state.RequeueSoon,
	}
}
