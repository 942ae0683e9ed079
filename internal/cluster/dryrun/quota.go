package dryrun

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// The operator has no right to read ResourceQuotas, but the API server names in its refusal what the Pod requests, what is
// used and what the limit is. The Pod that is to be stopped is still counted as used then.

// quotaRefusal is how the admission plugin ResourceQuota words a refusal.
var quotaRefusal = regexp.MustCompile(`exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)`)

// overQuota is what a refusal says, by the names of resources in the quota.
type overQuota struct {
	text                     string
	requested, used, limited map[string]resource.Quantity
}

// exceededQuota reads a refusal of a quota; false if err is none, or is worded differently.
func exceededQuota(err error) (overQuota, bool) {
	if !apierrors.IsForbidden(err) {
		return overQuota{}, false
	}
	found := quotaRefusal.FindStringSubmatch(err.Error())
	if found == nil {
		return overQuota{}, false
	}
	over := overQuota{text: found[0]}
	for i, into := range []*map[string]resource.Quantity{&over.requested, &over.used, &over.limited} {
		quantities, ok := parseQuantities(found[i+2])
		if !ok {
			return overQuota{}, false
		}
		*into = quantities
	}
	return over, true
}

// parseQuantities reads "pods=3,requests.cpu=500m".
func parseQuantities(list string) (map[string]resource.Quantity, bool) {
	quantities := map[string]resource.Quantity{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(pair, "=")
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			return nil, false
		}
		quantities[name] = quantity
	}
	return quantities, true
}

// refusedByQuota says why a quota refuses the Pod of a member also after its present Pod has stopped. It says nothing if
// the stop makes enough room.
func (r *Rehearsals) refusedByQuota(ctx context.Context, v *view.View, member string, over overQuota) (string, error) {
	var present corev1.Pod
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: member}, &present)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Pod %s: %w", member, err)
	}
	ended := err != nil || present.Status.Phase == corev1.PodFailed || present.Status.Phase == corev1.PodSucceeded
	for name, requested := range over.requested {
		left := over.limited[name]
		left.Sub(over.used[name])
		if !ended {
			left.Add(UsedBy(&present, name))
		}
		if left.Cmp(requested) < 0 {
			return over.text, nil
		}
	}
	return "", nil
}

// UsedBy is how much of a resource of a quota a Pod uses.
func UsedBy(pod *corev1.Pod, name string) resource.Quantity {
	if name == "pods" || name == "count/pods" {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	limits := strings.HasPrefix(name, "limits.")
	key := corev1.ResourceName(strings.TrimPrefix(strings.TrimPrefix(name, "limits."), "requests."))
	of := func(c corev1.Container) resource.Quantity {
		if limits {
			return c.Resources.Limits[key]
		}
		return c.Resources.Requests[key]
	}
	sum, first := pod.Spec.Overhead[key], resource.Quantity{}
	for _, c := range pod.Spec.Containers {
		sum.Add(of(c))
	}
	for _, c := range pod.Spec.InitContainers {
		needs := of(c)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sum.Add(needs)
		} else if needs.Cmp(first) > 0 {
			first = needs
		}
	}
	if first.Cmp(sum) > 0 {
		return first
	}
	return sum
}
