package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// pageSize is how many objects of a tenant one answer has at most. Kubernetes allows about 1.5 MiB for each, and they take more in memory.
	pageSize = 10
	// listsAtOnce is how many passes read such pages at the same time. One namespace has one fewer.
	listsAtOnce = 2
	// maxLivePods is how many bytes of memory the Pods of one EtcdCluster take at most that are read past the cache.
	maxLivePods = 4 << 20
)

// newLists limits the passes that list objects of a tenant past the cache.
func newLists() *turns.Gate { return turns.NewGate(listsAtOnce) }

// eachPage lists objects of a namespace past the cache in pages, and calls visit with each page, until that returns false. Only one page is
// in memory at a time. It waits for a slot of the gate; nil has no limit.
func eachPage[L client.ObjectList](ctx context.Context, r *Reconciler, gate *turns.Gate, namespace string, empty L, visit func(L) bool, options ...client.ListOption) error {
	if gate != nil {
		leave, err := gate.Enter(ctx, namespace)
		if err != nil {
			return fmt.Errorf("wait for other lists: %w", err)
		}
		defer leave()
	}
	options = append(options, client.InNamespace(namespace), client.Limit(pageSize))
	for next := ""; ; {
		page, _ := empty.DeepCopyObject().(L)
		if err := r.APIReader.List(ctx, page, append(options, client.Continue(next))...); err != nil {
			return err
		}
		if next = page.GetContinue(); !visit(page) || next == "" {
			return nil
		}
	}
}

// livePods reads past the cache the Pods of an EtcdCluster, without what slim removes. It looks at all Pods of the namespace, because a Pod can
// lose its labels. It reads only the names of those that belong to others, because a tenant may have many large Pods.
func (r *Reconciler) livePods(ctx context.Context, v *view) (pods []corev1.Pod, err error) {
	names, err := r.liveNames(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("list Pods of EtcdCluster %s: %w", v.Name, err)
	}
	held := 0
	for _, name := range names {
		var pod corev1.Pod
		err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read Pod %s of EtcdCluster %s: %w", name, v.Name, err)
		}
		slim(&pod)
		if held += heldSize(&pod); held > maxLivePods {
			return nil, fmt.Errorf("the Pods that EtcdCluster %s owns take more than %d MiB of memory, so the operator does not read them. Delete the Pods that are not members, and shorten long annotations", v.Name, maxLivePods>>20)
		}
		if v.owns(&pod) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// liveNames reads past the cache the names of the Pods of an EtcdCluster.
func (r *Reconciler) liveNames(ctx context.Context, v *view) (names []string, err error) {
	var empty metav1.PartialObjectMetadataList
	empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err = eachPage(ctx, r, r.lists, v.Namespace, &empty, func(page *metav1.PartialObjectMetadataList) bool {
		for i := range page.Items {
			if v.owns(&corev1.Pod{ObjectMeta: page.Items[i].ObjectMeta}) {
				names = append(names, strings.Clone(page.Items[i].Name))
			}
		}
		return true
	})
	return names, err
}
