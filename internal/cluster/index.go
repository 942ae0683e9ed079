package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// indexCluster is the cache's index of objects by the EtcdClusters that they may belong to, or that they are for.
const indexCluster = "etcd-cluster"

// foreignBudgets is the key of the PodDisruptionBudgets that no EtcdCluster owns. Their selectors may match Pods of any.
const foreignBudgets = "foreign"

// addIndexes has a cache index what candidates looks up.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range indexes() {
		if err := indexer.IndexField(ctx, index.kind, indexCluster, index.keys); err != nil {
			return fmt.Errorf("index %T: %w", index.kind, err)
		}
	}
	return nil
}

type index struct {
	kind client.Object
	keys client.IndexerFunc
}

func indexes() []index {
	return []index{
		{&corev1.Pod{}, keysOf}, {&corev1.PersistentVolumeClaim{}, keysOf},
		{&policyv1.PodDisruptionBudget{}, keysOfBudget}, {&v1beta2.EtcdRestore{}, keysOfRestore},
	}
}

// keysOfBudget are the UID of the EtcdCluster that owns the budget or foreignBudgets, and the name of the budget, which is that
// of its EtcdCluster.
func keysOfBudget(object client.Object) []string {
	keys := []string{keyOfName(object.GetName())}
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "EtcdCluster" {
		return append(keys, keyOfUID(owner.UID))
	}
	return append(keys, foreignBudgets)
}

// keysOfRestore is the name of the EtcdCluster that is to be restored.
func keysOfRestore(object client.Object) []string {
	restore, ok := object.(*v1beta2.EtcdRestore)
	if !ok {
		return nil
	}
	return []string{keyOfName(restore.Spec.EtcdCluster.Name)}
}

// listIndexed lists the objects of the namespace that have one of the keys. Without an index, it lists all. The objects are those
// of the cache, and may only be read.
func (r *Reconciler) listIndexed(ctx context.Context, v *view, list client.ObjectList, keys ...string) ([]client.Object, error) {
	options := [][]client.ListOption{nil}
	if r.indexed {
		options = nil
		for _, key := range keys {
			options = append(options, []client.ListOption{client.MatchingFields{indexCluster: key}, client.UnsafeDisableDeepCopy})
		}
	}
	found := map[string]client.Object{}
	for _, option := range options {
		if err := r.Client.List(ctx, list, append(option, client.InNamespace(v.Namespace))...); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
		err := meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok {
				found[object.GetName()] = object
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) }), nil
}

// keysOf an object are found on it: the UID of its controller, the UID that a kept volume is marked with, the name of a
// cluster in its label, and the one in its own name if nothing controls it.
func keysOf(object client.Object) []string {
	var keys []string
	if _, stripped := object.(*metav1.PartialObjectMetadata); stripped {
		return nil
	}
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
	if name := object.GetLabels()[v1beta2.LabelReplacedOf]; name != "" {
		keys = append(keys, keyOfReplaced(name))
	}
	return keys
}

func keyOfUID(uid types.UID) string { return "uid/" + string(uid) }

func keyOfReplaced(name string) string { return "replaced/" + name }

func keyOfName(name string) string { return "name/" + name }

// candidates are all objects of a list's kind that may belong to the EtcdCluster, whatever labels they lost. view.owns
// decides which do. Without an index, all objects of the namespace are read. The objects are those of the cache, and may only be
// read.
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
		if err := collect(client.MatchingFields{indexCluster: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Values(found)), nil
}
