package kubecache

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// maxLivePods is how many bytes of memory the Pods of one EtcdCluster take at most that are read past the cache.
const maxLivePods = 4 << 20

// LivePods reads past the cache the Pods of an EtcdCluster, without what slim removes. It looks at all Pods of the namespace, because a Pod can
// lose its labels. It reads only the names of those that belong to others, because a tenant may have many large Pods.
func (l *Lists) LivePods(ctx context.Context, v *view.View) (pods []corev1.Pod, err error) {
	names, err := l.liveNames(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("list Pods of EtcdCluster %s: %w", v.Name, err)
	}
	held := 0
	for _, name := range names {
		var pod corev1.Pod
		err := l.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read Pod %s of EtcdCluster %s: %w", name, v.Name, err)
		}
		Slim(&pod)
		if held += HeldSize(&pod); held > maxLivePods {
			return nil, fmt.Errorf("the Pods that EtcdCluster %s owns take more than %d MiB of memory, so the operator does not read them. Delete the Pods that are not members, and shorten long annotations", v.Name, maxLivePods>>20)
		}
		if v.Owns(&pod) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// liveNames reads past the cache the names of the Pods of an EtcdCluster.
func (l *Lists) liveNames(ctx context.Context, v *view.View) (names []string, err error) {
	var empty metav1.PartialObjectMetadataList
	empty.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err = EachPage(ctx, l.APIReader, l.Gate, v.Namespace, &empty, func(page *metav1.PartialObjectMetadataList) bool {
		for i := range page.Items {
			if v.Owns(&corev1.Pod{ObjectMeta: page.Items[i].ObjectMeta}) {
				names = append(names, strings.Clone(page.Items[i].Name))
			}
		}
		return true
	})
	return names, err
}
