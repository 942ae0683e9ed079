package cluster

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// observeNetworkPolicy reads the cluster's NetworkPolicy. That of a person with the same name matters only if the spec asks for one.
func (r *Reconciler) observeNetworkPolicy(ctx context.Context, v *view) error {
	if r.networkPeers == nil {
		v.NetworkPolicy.Unmanaged = true
		return nil
	}
	var have networkingv1.NetworkPolicy
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, &have)
	switch {
	case apierrors.IsNotFound(err):
		v.known.repeats.Forget(plan.ApplyNetworkPolicy{})
	case err != nil:
		return fmt.Errorf("read NetworkPolicy %s: %w", v.Name, err)
	case metav1.IsControlledBy(&have, v.cluster):
		open := opensPeers(&have)
		want := networkPolicy(v.State, plan.ApplyNetworkPolicy{OpenPeers: open}, *r.networkPeers)
		current := digest(want.Spec) == digest(have.Spec) && equality.Semantic.DeepDerivative(want.Labels, have.Labels)
		v.NetworkPolicy = plan.NetworkPolicy{Exists: true, Current: current, OpenPeers: open, Leaving: !have.DeletionTimestamp.IsZero()}
	case v.Spec.NetworkPolicy != nil:
		v.noteForeign("NetworkPolicy", &have)
	}
	return nil
}
