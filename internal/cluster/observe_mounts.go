package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// mounting is how long a Pod may wait for its volumes before the operator asks why.
const mounting = 30 * time.Second

// mountEvents are the reasons of the events with which Kubernetes says so. A Pod's own status does not say it.
var mountEvents = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume"}

// observeMounts reads why the volumes of a scheduled Pod that does not start cannot be mounted. Without the right to list
// events it stays unknown.
func (r *Reconciler) observeMounts(ctx context.Context, v *view) {
	for i := range v.Members {
		m := &v.Members[i]
		if m.Pod != plan.PodStarting || m.Node == "" || m.StartupBudget > 0 || v.Now.Sub(m.PodCreated) < mounting {
			continue
		}
		var events corev1.EventList
		err := r.APIReader.List(ctx, &events, client.InNamespace(v.Namespace), client.MatchingFields{"involvedObject.name": m.Name})
		if err != nil {
			log.FromContext(ctx).V(1).Info("the events of a Pod cannot be read", "pod", m.Name, "cause", err)
			continue
		}
		if said := newestMount(events.Items, m.PodCreated); said != "" {
			m.Unanswered = "its volumes cannot be mounted: " + planning.Shorten(said, 300)
		}
	}
}

// require records the Secret without which the Pod of a seed cannot start again. Earlier releases made such Pods.
func (v *view) require(pod *corev1.Pod) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == credentialsVolume && volume.Secret != nil && !ptr.Deref(volume.Secret.Optional, false) {
			if v.required == nil {
				v.required = map[string]string{}
			}
			v.required[pod.Name] = volume.Secret.SecretName
		}
	}
}

// observeRequired looks whether the Pod of a seed that was restored long ago waits for a Secret that does not exist any more:
// a node that boots again mounts all volumes of its Pods.
func (r *Reconciler) observeRequired(ctx context.Context, v *view) {
	for i := range v.Members {
		m := &v.Members[i]
		secret := v.required[m.Name]
		if secret == "" || m.Pod != plan.PodStarting || m.Incarnation != v.Incarnation || !v.Formed() {
			continue
		}
		if _, err := kube.SecretData(ctx, r.Client, v.Namespace, secret); errors.Is(err, kube.ErrSecretMissing) {
			m.MissingSecret = secret
			m.Unanswered = "its Pod cannot start without Secret " + secret + ", which does not exist"
		}
	}
}

// newestMount is the message of the newest such event since a time.
func newestMount(events []corev1.Event, since time.Time) (said string) {
	newest := since
	for _, e := range events {
		at := e.LastTimestamp.Time
		if e.Series != nil {
			at = e.Series.LastObservedTime.Time
		}
		if at.IsZero() {
			at = e.EventTime.Time
		}
		if slices.Contains(mountEvents, e.Reason) && !at.Before(newest) {
			newest, said = at, e.Message
		}
	}
	return said
}
