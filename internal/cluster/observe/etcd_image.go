package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// EtcdImage is what the administrator chose for all EtcdClusters that do not choose themselves. An empty field chooses nothing.
type EtcdImage struct {
	Repository  string
	PullSecrets []string
}

// Apply writes the choice into a copy of a spec. The API server fills in its own default for repository, so a spec with that value has
// not chosen. A user who wants that image in spite of the administrator's writes it as image.repository.
func (e EtcdImage) Apply(spec *v1beta2.EtcdClusterSpec) {
	chosen := spec.ImagePolicy != nil && spec.ImagePolicy.Repository != ""
	if e.Repository != "" && !chosen && (spec.Repository == "" || spec.Repository == v1beta2.DefaultRepository) {
		spec.Repository = e.Repository
	}
	if len(e.PullSecrets) == 0 || spec.Pod != nil && len(spec.Pod.ImagePullSecrets) > 0 {
		return
	}
	if spec.Pod == nil {
		spec.Pod = &v1beta2.PodPolicy{}
	}
	for _, name := range e.PullSecrets {
		spec.Pod.ImagePullSecrets = append(spec.Pod.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
}
