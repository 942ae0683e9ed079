package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// MetadataDue is an object that does not have what spec.metadata asks for. Pods are not among these: see RelabelPod.
type MetadataDue struct{ Kind, Name string }

// ApplyMetadata sets the labels and annotations of spec.metadata on an object.
type ApplyMetadata struct{ Kind, Name string }

func (step ApplyMetadata) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is setting the labels and annotations of " + step.Kind + " " + step.Name + " to those of spec.metadata.",
		Requeue: requeueSoon,
	}
}

// applyMetadata is about objects that exist. New ones get the labels and annotations when they are created. No other step
// writes them to an object that exists, so that a policy that refuses them refuses nothing else. After a refusal, the pass tries no
// other object of that kind, because most policies are about kinds.
func applyMetadata(s State) Step {
	refused := map[string]bool{}
	for _, due := range s.MetadataDue {
		if h, held := s.held(ApplyMetadata(due)); held && h.Times == 0 {
			refused[due.Kind] = true
		}
	}
	for _, due := range s.MetadataDue {
		if step := ApplyMetadata(due); !refused[due.Kind] && s.may(step) {
			return step
		}
	}
	return nil
}

// MetadataFor returns what spec.metadata asks of an object. The settings for Pods and for the client Service come before it: others
// are those.
func (s State) MetadataFor(kind, name string) (given, others metadata.Given) {
	switch {
	case kind == "Pod":
		others = metadata.Given{Labels: s.PodPolicy().Labels, Annotations: s.PodPolicy().Annotations}
	case kind == "Service" && name == s.ClientService() && s.Spec.Service != nil:
		others = metadata.Given{Labels: s.Spec.Service.Labels, Annotations: s.Spec.Service.Annotations}
	}
	return metadata.Of(s.Spec).Without(others), others
}

// NoteMetadata records an object that does not have what spec.metadata asks for.
func (s *State) NoteMetadata(kind, name string, object metadata.Object) {
	if given, _ := s.MetadataFor(kind, name); given.Due(object) {
		s.MetadataDue = append(s.MetadataDue, MetadataDue{Kind: kind, Name: name})
	}
}
