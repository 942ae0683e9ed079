package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// mounting is how long a Pod may wait for its volumes before the operator asks why.
	mounting = 30 * time.Second
	// maxMountPages is how many pages of events a pass reads about a Pod.
	maxMountPages = 5
	// explainAgain is how long the events about a Pod are used before they are read again.
	explainAgain = 10 * time.Second
)

// mountEvents are the reasons of the events with which Kubernetes says so. A Pod's own status does not say it.
var mountEvents = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume"}

// observeMounts reads why the volumes of a scheduled Pod that does not start cannot be mounted. Without the right to list
// events it stays unknown. If the events cannot be read in time, the words of an earlier pass are used.
func (o *Observer) observeMounts(ctx context.Context, v *view.View) {
	words, before := map[string]mountWords{}, o.Memory.OfView(v)
	var due []*state.Member
	for i := range v.Members {
		m := &v.Members[i]
		if m.Pod != state.PodStarting || m.Node == "" || m.StartupBudget > 0 || v.Now.Sub(m.PodCreated) < mounting {
			continue
		}
		known := before.mounts[m.Name]
		if !known.created.Equal(m.PodCreated) {
			known = mountWords{created: m.PodCreated}
		}
		if words[m.Name] = known; v.Now.Sub(known.at) >= explainAgain {
			due = append(due, m)
		}
	}
	before.mounts = words
	slices.SortStableFunc(due, func(a, b *state.Member) int { return words[a.Name].at.Compare(words[b.Name].at) })
	o.readMounts(ctx, v, due)
	for i := range v.Members {
		m := &v.Members[i]
		if said := words[m.Name].said; said != "" {
			m.Unanswered = "its volumes cannot be mounted: " + said
		}
	}
}

// readMounts reads the events about Pods one after the other, up to the first error. Only the first Pod had the whole time, so any other one
// remains due.
func (o *Observer) readMounts(ctx context.Context, v *view.View, due []*state.Member) {
	words := o.Memory.OfView(v).mounts
	for i, m := range due {
		said, err := o.newestMount(ctx, v.Namespace, m)
		known := words[m.Name]
		if err == nil {
			known.said = said
		}
		if err == nil || i == 0 {
			known.at = v.Now
		}
		if words[m.Name] = known; err != nil {
			log.FromContext(ctx).V(1).Info("the events of a Pod cannot be read", "pod", m.Name, "cause", err)
			return
		}
	}
}

// newestMount is the message of the newest such event about the present Pod of a member. Kubernetes writes few of them. A tenant can write many large
// ones, which show a wrong message in the status of the own cluster, or none. One list has the events of all reasons, because the API server reads all
// events of the namespace for each list.
func (o *Observer) newestMount(ctx context.Context, namespace string, m *state.Member) (said string, err error) {
	newest, pages := m.PodCreated, 0
	err = kubecache.EachPage(ctx, o.APIReader, o.Explaining, namespace, &corev1.EventList{}, func(page *corev1.EventList) bool {
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
