package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
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

// maxMountPages is how many pages of events a pass reads about a Pod.
const maxMountPages = 5

// mountWords is why the volumes of a Pod cannot be mounted, as the events say.
type mountWords struct {
	// created is the Pod's. Another one has other events.
	created time.Time
	// at is when the events were last asked for.
	at   time.Time
	said string
}

// observeMounts reads why the volumes of a scheduled Pod that does not start cannot be mounted. Without the right to list
// events it stays unknown. If the events cannot be read in time, the words of an earlier pass are used.
func (r *Reconciler) observeMounts(ctx context.Context, v *view) {
	words := map[string]mountWords{}
	var due []*plan.Member
	for i := range v.Members {
		m := &v.Members[i]
		if m.Pod != plan.PodStarting || m.Node == "" || m.StartupBudget > 0 || v.Now.Sub(m.PodCreated) < mounting {
			continue
		}
		known := v.known.mounts[m.Name]
		if !known.created.Equal(m.PodCreated) {
			known = mountWords{created: m.PodCreated}
		}
		if words[m.Name] = known; v.Now.Sub(known.at) >= explainAgain {
			due = append(due, m)
		}
	}
	v.known.mounts = words
	slices.SortStableFunc(due, func(a, b *plan.Member) int { return words[a.Name].at.Compare(words[b.Name].at) })
	r.readMounts(ctx, v, due)
	for i := range v.Members {
		m := &v.Members[i]
		if said := words[m.Name].said; said != "" {
			m.Unanswered = "its volumes cannot be mounted: " + said
		}
	}
}

// readMounts reads the events about Pods one after the other, up to the first error. Only the first Pod had the whole time, so any other one
// remains due.
func (r *Reconciler) readMounts(ctx context.Context, v *view, due []*plan.Member) {
	for i, m := range due {
		said, err := r.newestMount(ctx, v.Namespace, m)
		known := v.known.mounts[m.Name]
		if err == nil {
			known.said = said
		}
		if err == nil || i == 0 {
			known.at = v.Now
		}
		if v.known.mounts[m.Name] = known; err != nil {
			log.FromContext(ctx).V(1).Info("the events of a Pod cannot be read", "pod", m.Name, "cause", err)
			return
		}
	}
}

// newestMount is the message of the newest such event about the present Pod of a member. Kubernetes writes few of them. A tenant can write many large
// ones, which show a wrong message in the status of the own cluster, or none. One list has the events of all reasons, because the API server reads all
// events of the namespace for each list.
func (r *Reconciler) newestMount(ctx context.Context, namespace string, m *plan.Member) (said string, err error) {
	newest, pages := m.PodCreated, 0
	err = eachPage(ctx, r, r.explaining, namespace, &corev1.EventList{}, func(page *corev1.EventList) bool {
		for i := range page.Items {
			if e := &page.Items[i]; slices.Contains(mountEvents, e.Reason) && !seen(e).Before(newest) {
				newest, said = seen(e), strings.Clone(planning.Shorten(e.Message, 300))
			}
		}
		pages++
		return pages < maxMountPages
	}, client.MatchingFields{"involvedObject.kind": "Pod", "involvedObject.name": m.Name})
	if err != nil {
		return "", err
	}
	return said, nil
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

// seen is when an event was last seen.
func seen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
