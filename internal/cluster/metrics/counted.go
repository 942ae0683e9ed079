package metrics

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// CountedClient counts what it writes, by verb and kind, whether the API server took it or not.
type CountedClient struct {
	client.Client
	Writes *prometheus.CounterVec
}

func (c CountedClient) count(verb string, object runtime.Object) {
	kind := "Unknown"
	if gvk, err := apiutil.GVKForObject(object, c.Scheme()); err == nil {
		kind = gvk.Kind
	}
	c.Writes.WithLabelValues(verb, kind).Inc()
}

func (c CountedClient) countApplied(configuration runtime.ApplyConfiguration) {
	kind := "Unknown"
	if named, ok := configuration.(interface{ GetKind() string }); ok {
		kind = named.GetKind()
	}
	c.Writes.WithLabelValues("apply", kind).Inc()
}

func (c CountedClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if !slices.Contains(options, client.CreateOption(client.DryRunAll)) {
		c.count("create", object)
	}
	return c.Client.Create(ctx, object, options...)
}

func (c CountedClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	c.count("update", object)
	return c.Client.Update(ctx, object, options...)
}

func (c CountedClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	c.count("patch", object)
	return c.Client.Patch(ctx, object, patch, options...)
}

func (c CountedClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	c.count("delete", object)
	return c.Client.Delete(ctx, object, options...)
}

func (c CountedClient) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	c.count("deletecollection", object)
	return c.Client.DeleteAllOf(ctx, object, options...)
}

func (c CountedClient) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	c.countApplied(object)
	return c.Client.Apply(ctx, object, options...)
}

func (c CountedClient) Status() client.SubResourceWriter {
	return countedStatus{c.Client.Status(), c}
}

// countedStatus counts what it writes into statuses.
type countedStatus struct {
	client.SubResourceWriter
	counted CountedClient
}

func (c countedStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	c.counted.count("update", object)
	return c.SubResourceWriter.Update(ctx, object, options...)
}

func (c countedStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	c.counted.count("patch", object)
	return c.SubResourceWriter.Patch(ctx, object, patch, options...)
}
