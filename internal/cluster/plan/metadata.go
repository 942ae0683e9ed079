package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
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

// applyMetadata is about objects that exist. New ones get the labels and annotations when they are created. No other step
// writes them to an object that exists, so that a policy that refuses them refuses nothing else. After a refusal, the pass tries no
// other object of that kind, because most policies are about kinds.
func applyMetadata(s state.State) Step {
	refused := map[string]bool{}
	for _, due := range s.MetadataDue {
		if h, held := held(s, ApplyMetadata(due)); held && h.Times == 0 {
			refused[due.Kind] = true
		}
	}
	for _, due := range s.MetadataDue {
		if step := ApplyMetadata(due); !refused[due.Kind] && may(s, step) {
			return step
		}
	}
	return nil
}

// MetadataFor returns what spec.metadata asks of an object. The settings for Pods and for the client Service come before it: others
// are those.
func MetadataFor(s state.State, kind, name string) (given, others metadata.Given) {
	switch {
	case kind == "Pod":
		others = metadata.Given{Labels: s.PodPolicy().Labels, Annotations: s.PodPolicy().Annotations}
	case kind == "Service" && name == s.ClientService() && s.Spec.Service != nil:
		others = metadata.Given{Labels: s.Spec.Service.Labels, Annotations: s.Spec.Service.Annotations}
	}
	return metadata.Of(s.Spec).Without(others), others
}

// NoteMetadata records an object that does not have what spec.metadata asks for.
func NoteMetadata(s *state.State, kind, name string, object metadata.Object) {
	if given, _ := MetadataFor(*s, kind, name); given.Due(object) {
		s.MetadataDue = append(s.MetadataDue, state.MetadataDue{Kind: kind, Name: name})
	}
}
