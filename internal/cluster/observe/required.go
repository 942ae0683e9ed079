package observe

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// require records the Secret without which the Pod of a seed cannot start again. Earlier releases made such Pods.
func require(v *view.View, pod *corev1.Pod) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == pods.CredentialsVolume && volume.Secret != nil && !ptr.Deref(volume.Secret.Optional, false) {
			if v.Required == nil {
				v.Required = map[string]string{}
			}
			v.Required[pod.Name] = volume.Secret.SecretName
		}
	}
}

// observeRequired looks whether the Pod of a seed that was restored long ago waits for a Secret that does not exist any more:
// a node that boots again mounts all volumes of its Pods.
func (o *Observer) observeRequired(ctx context.Context, v *view.View) {
	for i := range v.Members {
		m := &v.Members[i]
		secret := v.Required[m.Name]
		if secret == "" || m.Pod != state.PodStarting || m.Incarnation != v.Incarnation || !v.Formed() {
			continue
		}
		if _, err := kube.SecretData(ctx, o.Client, v.Namespace, secret); errors.Is(err, kube.ErrSecretMissing) && !errors.Is(err, kube.ErrSecretRefused) {
			m.MissingSecret = secret
			m.Unanswered = "its Pod cannot start without Secret " + secret + ", which does not exist"
		}
	}
}
