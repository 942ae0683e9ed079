package observe

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ObserveNetworkPolicy reads the cluster's NetworkPolicy. That of a person with the same name matters only if the spec asks for one.
func (o *Observer) ObserveNetworkPolicy(ctx context.Context, v *view.View) error {
	if o.NetworkPeers == nil {
		v.NetworkPolicy.Unmanaged = true
		return nil
	}
	var have networkingv1.NetworkPolicy
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, &have)
	switch {
	case apierrors.IsNotFound(err):
		v.Repeats.Forget(steps.ApplyNetworkPolicy{})
	case err != nil:
		return fmt.Errorf("read NetworkPolicy %s: %w", v.Name, err)
	case metav1.IsControlledBy(&have, v.Cluster):
		services.NoteMetadata(&v.State, "NetworkPolicy", have.Name, &have)
		open := objects.OpensPeers(&have)
		want := objects.NetworkPolicy(v.State, steps.ApplyNetworkPolicy{OpenPeers: open}, *o.NetworkPeers)
		current := objects.Digest(want.Spec) == objects.Digest(have.Spec) && equality.Semantic.DeepDerivative(want.Labels, have.Labels)
		v.NetworkPolicy = state.NetworkPolicy{Exists: true, Current: current, OpenPeers: open, Leaving: !have.DeletionTimestamp.IsZero()}
	case v.Spec.NetworkPolicy != nil:
		v.NoteForeign("NetworkPolicy", &have)
	}
	return nil
}
