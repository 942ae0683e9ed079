package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
)

// maxEntries bounds the parts that are tried, to 256. A Pod has two for CPU and two for memory.
const maxEntries = 8

// hasResources reports whether a container has what is wanted. After a resize was asked, Kubernetes may have added defaults.
func hasResources(got, want corev1.ResourceRequirements, asked bool) bool {
	return sameResources(want, got) || (asked && containsAll(got, want))
}

func etcdOf(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == lifecycle.EtcdContainer {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

// names reports whether a list has all entries of another one, of whatever quantity.
func names(list, of corev1.ResourceList) bool {
	for name := range of {
		if _, has := list[name]; !has {
			return false
		}
	}
	return true
}

// partsOf yields resources with each subset of the requests and limits.
func partsOf(all corev1.ResourceRequirements) func(yield func(corev1.ResourceRequirements) bool) {
	type entry struct {
		limit bool
		name  corev1.ResourceName
	}
	var entries []entry
	for name := range all.Limits {
		entries = append(entries, entry{true, name})
	}
	for name := range all.Requests {
		entries = append(entries, entry{false, name})
	}
	return func(yield func(corev1.ResourceRequirements) bool) {
		if len(entries) > maxEntries {
			return
		}
		for set := range 1 << len(entries) {
			part := corev1.ResourceRequirements{Claims: all.Claims, Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}}
			for i, e := range entries {
				switch {
				case set&(1<<i) == 0:
				case e.limit:
					part.Limits[e.name] = all.Limits[e.name]
				default:
					part.Requests[e.name] = all.Requests[e.name]
				}
			}
			if !yield(part) {
				return
			}
		}
	}
}

// containsAll reports whether a Pod has what the spec asks for. Others, such as a LimitRange, may have added to it.
func containsAll(have, want corev1.ResourceRequirements) bool {
	return contains(have.Limits, want.Limits) && contains(have.Requests, want.Requests)
}

func contains(have, want corev1.ResourceList) bool {
	for name, quantity := range want {
		if has, ok := have[name]; !ok || has.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

// sameResources: a request that is not given is filled in from the limit.
func sameResources(want, have corev1.ResourceRequirements) bool {
	return equality.Semantic.DeepDerivative(want.Limits, have.Limits) && len(want.Limits) == len(have.Limits) &&
		equality.Semantic.DeepDerivative(want.Requests, have.Requests)
}
