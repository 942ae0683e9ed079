package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// maxSlicePages is how many pages of EndpointSlices a pass reads about one Service. Kubernetes writes one slice or two for a cluster. Without an
// address, a member is added a little later.
const maxSlicePages = 5

// observePublished reads whether the addresses of Pods that wait are in the headless Service. The DNS servers of Kubernetes read the
// names of Pods from there. Without the right to list EndpointSlices it stays unknown.
func (o *Observer) observePublished(ctx context.Context, v *view.View) {
	known := o.Memory.OfView(v)
	if !slices.ContainsFunc(v.Members, func(m state.Member) bool { return toBePublished(v, m) }) {
		known.published = nil
		return
	}
	published, wanted, pages := map[endpoint]bool{}, waitingEndpoints(v), 0
	err := kubecache.EachPage(ctx, o.APIReader, o.Gate, v.Namespace, &discoveryv1.EndpointSliceList{}, func(page *discoveryv1.EndpointSliceList) bool {
		addPublished(published, wanted, page.Items)
		pages++
		return pages < maxSlicePages && len(published) < len(wanted)
	}, client.MatchingLabels{discoveryv1.LabelServiceName: v.Name})
	if err != nil {
		log.FromContext(ctx).V(1).Info("the addresses of a Service cannot be read", "service", v.Name, "cause", err)
		return
	}
	before := known.published
	known.published = nil
	for i := range v.Members {
		m := &v.Members[i]
		at := endpoint{m.Name, v.Addresses[m.Name]}
		if !m.Waits || !published[at] {
			continue
		}
		m.PublishedSince = v.Now
		if since, seen := before[at]; seen {
			m.PublishedSince = since
		}
		known.notePublished(at, m.PublishedSince)
	}
}

// toBePublished returns whether a Pod waits and has an address, and its name may not resolve yet.
func toBePublished(v *view.View, m state.Member) bool {
	return m.Waits && !m.AddressSince.IsZero() && !state.WaitedToBePublished(v.State, m)
}

// waitingEndpoints returns the addresses of the Pods that wait.
func waitingEndpoints(v *view.View) map[endpoint]bool {
	wanted := map[endpoint]bool{}
	for _, m := range v.Members {
		if address := v.Addresses[m.Name]; m.Waits && address != "" {
			wanted[endpoint{m.Name, address}] = true
		}
	}
	return wanted
}

// addPublished adds the wanted addresses that are in EndpointSlices. A tenant may write slices with many others.
func addPublished(published, wanted map[endpoint]bool, slices []discoveryv1.EndpointSlice) {
	for _, s := range slices {
		for _, e := range s.Endpoints {
			for _, address := range e.Addresses {
				if at := (endpoint{ptr.Deref(e.Hostname, ""), address}); wanted[at] {
					published[endpoint{strings.Clone(at.member), strings.Clone(at.address)}] = true
				}
			}
		}
	}
}

// notePublished records since when an address was seen in the headless Service.
func (known *observed) notePublished(at endpoint, since time.Time) {
	if known.published == nil {
		known.published = map[endpoint]time.Time{}
	}
	known.published[at] = since
}
