package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// indexCluster is the cache's index of Pods and volumes by the EtcdClusters that they may belong to.
const indexCluster = "etcd-cluster"

// addIndexes has a cache index what candidates looks up.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		if err := indexer.IndexField(ctx, kind, indexCluster, keysOf); err != nil {
			return fmt.Errorf("index %T: %w", kind, err)
		}
	}
	return nil
}

// keysOf an object are found on it: the UID of its controller, the UID that a kept volume is marked with, the name of a
// cluster in its label, and the one in its own name if nothing controls it.
func keysOf(object client.Object) []string {
	var keys []string
	if owner := metav1.GetControllerOf(object); owner != nil {
		keys = append(keys, keyOfUID(owner.UID))
	} else if cut := strings.LastIndexByte(object.GetName(), '-'); cut > 0 {
		keys = append(keys, keyOfName(object.GetName()[:cut]))
	}
	if uid := object.GetAnnotations()[v1beta2.AnnotationClusterUID]; uid != "" {
		keys = append(keys, keyOfUID(types.UID(uid)))
	}
	if name := object.GetLabels()[v1beta2.LabelCluster]; name != "" {
		keys = append(keys, keyOfName(name))
	}
	return keys
}

func keyOfUID(uid types.UID) string { return "uid/" + string(uid) }

func keyOfName(name string) string { return "name/" + name }

// candidates are all objects of a list's kind that may belong to the EtcdCluster, whatever labels they lost. view.owns
// decides which do. Without an index, all objects of the namespace are read.
func (r *Reconciler) candidates(ctx context.Context, v *view, list client.ObjectList) ([]client.Object, error) {
	keys := []string{keyOfUID(v.UID), keyOfName(v.Name)}
	found := map[string]client.Object{}
	collect := func(options ...client.ListOption) error {
		if err := r.Client.List(ctx, list, append(options, client.InNamespace(v.Namespace))...); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		return meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if ok && slices.ContainsFunc(keysOf(object), func(key string) bool { return slices.Contains(keys, key) }) {
				found[object.GetName()] = object
			}
			return nil
		})
	}
	if !r.indexed {
		if err := collect(); err != nil {
			return nil, err
		}
		return slices.Collect(maps.Values(found)), nil
	}
	for _, key := range keys {
		if err := collect(client.MatchingFields{indexCluster: key}); err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Values(found)), nil
}
