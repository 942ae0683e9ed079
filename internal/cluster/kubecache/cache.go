// Package kubecache decides what the cache of the Kubernetes API keeps, how large an object may be, and how objects are listed through the cache and past it.
package kubecache

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// CacheOptions has the cache hold what may belong to an EtcdCluster of this shard, and little of everything else. Label selectors
// would hold less, but a Pod or volume that lost its labels is still found by its owner or its name.
func CacheOptions(shard string) (map[client.Object]cache.ByObject, error) {
	clusters, err := shardSelector(shard)
	if err != nil {
		return nil, err
	}
	return map[client.Object]cache.ByObject{
		&v1beta2.EtcdCluster{}:          {Label: clusters},
		&corev1.Pod{}:                   {Transform: Strip},
		&corev1.PersistentVolumeClaim{}: {Transform: Strip},
		&corev1.Service{}:               {Transform: Strip},
		&policyv1.PodDisruptionBudget{}: {Transform: Strip},
		&networkingv1.NetworkPolicy{}:   {Transform: Strip},
	}, nil
}

// shardSelector selects the EtcdClusters of one operator: those with the label, or those without it.
func shardSelector(shard string) (labels.Selector, error) {
	operator, values := selection.DoesNotExist, []string(nil)
	if shard != "" {
		operator, values = selection.Equals, []string{shard}
	}
	requirement, err := labels.NewRequirement(v1beta2.LabelShard, operator, values)
	if err != nil {
		return nil, fmt.Errorf("invalid --shard %q: %w", shard, err)
	}
	return labels.NewSelector().Add(*requirement), nil
}

// Strip removes from an object that comes into the cache what no pass reads. Of a Pod or volume that cannot belong to an
// EtcdCluster it keeps the name only, so no index leads to it.
func Strip(in any) (any, error) {
	object, ok := in.(client.Object)
	if !ok {
		return in, nil
	}
	object.SetManagedFields(nil)
	if mayBeOurs(object) {
		if policy, is := object.(*networkingv1.NetworkPolicy); is {
			return withDigest(policy), nil
		}
		if Slim(object); HeldSize(object) <= MaxHeld {
			return object, nil
		}
	}
	kept := foreign(object)
	if budget, is := kept.(*policyv1.PodDisruptionBudget); is && HeldSize(kept) > MaxForeign {
		budget.Spec.Selector = nil
	}
	return kept, nil
}

// foreign returns what the cache holds of an object that does not belong to an EtcdCluster.
func foreign(object client.Object) client.Object {
	named := withOwner(object) // a Service or NetworkPolicy with the name of ours is reported
	switch object := object.(type) {
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: named}
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{ObjectMeta: named}
	case *policyv1.PodDisruptionBudget: // it may select our Pods
		return &policyv1.PodDisruptionBudget{ObjectMeta: named, Spec: policyv1.PodDisruptionBudgetSpec{Selector: object.Spec.Selector}}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: nameOnly(object)}
}

// mayBeOurs reports whether an object may belong to an EtcdCluster: by its owner, by what is written on it, or by its name if
// nothing controls it. It is true for all that view.owns accepts.
func mayBeOurs(object client.Object) bool {
	if owner := metav1.GetControllerOf(object); owner != nil && strings.HasPrefix(owner.APIVersion, v1beta2.Group+"/") {
		return true
	} else if owner == nil && state.MemberLike(object.GetName()) {
		return true
	}
	l, a := object.GetLabels(), object.GetAnnotations()
	return l[v1beta2.LabelCluster] != "" || l[v1beta2.LabelClusterUID] != "" || l[v1beta2.LabelReplacedOf] != "" || a[v1beta2.AnnotationClusterUID] != ""
}
