package services

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
)

// ApplyMetadata is about objects that exist. New ones get the labels and annotations when they are created. No other step
// writes them to an object that exists, so that a policy that refuses them refuses nothing else. After a refusal, the pass tries no
// other object of that kind, because most policies are about kinds.
func ApplyMetadata(s state.State) steps.Step {
	refused := map[string]bool{}
	for _, due := range s.MetadataDue {
		if h, held := waits.Held(s, steps.ApplyMetadata(due)); held && h.Times == 0 {
			refused[due.Kind] = true
		}
	}
	for _, due := range s.MetadataDue {
		if step := steps.ApplyMetadata(due); !refused[due.Kind] && waits.May(s, step) {
			return step
		}
	}
	return nil
}

// MetadataFor returns what spec.metadata asks of an object. The settings for Pods and for the client Service come before it: others
// are those. Claims that are kept have no owner, and neither have the Secrets that cert-manager writes for Certificates, so they get no key by which a
// GitOps tool would delete them.
func MetadataFor(s state.State, kind, name string) (given, others metadata.Given) {
	switch {
	case kind == "Pod":
		others = metadata.Given{Labels: s.PodPolicy().Labels, Annotations: s.PodPolicy().Annotations}
	case kind == "Service" && name == s.ClientService() && s.Spec.Service != nil:
		others = metadata.Given{Labels: s.Spec.Service.Labels, Annotations: s.Spec.Service.Annotations}
	}
	given = metadata.Of(s.Spec).Without(others)
	switch kind {
	case "PersistentVolumeClaim", "Certificate":
		given = given.Without(metadata.Tracking)
	case "Secret":
		given = given.ForSecret()
	}
	return given, others
}

// NoteMetadata records an object that does not have what spec.metadata asks for.
func NoteMetadata(s *state.State, kind, name string, object metadata.Object) {
	if given, _ := MetadataFor(*s, kind, name); given.Due(object) {
		s.MetadataDue = append(s.MetadataDue, state.MetadataDue{Kind: kind, Name: name})
	}
}
