package cluster

import (
	"context"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// endpoint is the address of a member's Pod.
type endpoint struct{ member, address string }

// observePublished reads whether the addresses of Pods that wait are in the headless Service. The DNS servers of Kubernetes read the
// names of Pods from there. Without the right to list EndpointSlices it stays unknown.
func (r *Reconciler) observePublished(ctx context.Context, v *view) {
	if !slices.ContainsFunc(v.Members, v.toBePublished) {
		v.known.published = nil
		return
	}
	var found discoveryv1.EndpointSliceList
	err := r.APIReader.List(ctx, &found, client.InNamespace(v.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: v.Name})
	if err != nil {
		log.FromContext(ctx).V(1).Info("the addresses of a Service cannot be read", "service", v.Name, "cause", err)
		return
	}
	published := publishedIn(found.Items)
	before := v.known.published
	v.known.published = nil
	for i := range v.Members {
		m := &v.Members[i]
		at := endpoint{m.Name, v.addresses[m.Name]}
		if !m.Waits || !published[at] {
			continue
		}
		m.PublishedSince = v.Now
		if since, seen := before[at]; seen {
			m.PublishedSince = since
		}
		v.known.notePublished(at, m.PublishedSince)
	}
}

// toBePublished returns whether a Pod waits and has an address, and its name may not resolve yet.
func (v *view) toBePublished(m plan.Member) bool {
	return m.Waits && !m.AddressSince.IsZero() && !v.WaitedToBePublished(m)
}

// publishedIn returns the named addresses of EndpointSlices.
func publishedIn(found []discoveryv1.EndpointSlice) map[endpoint]bool {
	published := map[endpoint]bool{}
	for _, s := range found {
		for _, e := range s.Endpoints {
			for _, address := range e.Addresses {
				published[endpoint{ptr.Deref(e.Hostname, ""), address}] = true
			}
		}
	}
	return published
}
