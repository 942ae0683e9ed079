package kubecache

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// IndexCluster is the cache's index of objects by the EtcdClusters that they may belong to, or that they are for.
const IndexCluster = "etcd-cluster"

// ForeignBudgets is the key of the PodDisruptionBudgets that no EtcdCluster owns. Their selectors may match Pods of any.
const ForeignBudgets = "foreign"

// AddIndexes has a cache index what candidates looks up.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range Indexes() {
		if err := indexer.IndexField(ctx, index.Kind, IndexCluster, index.Keys); err != nil {
			return fmt.Errorf("index %T: %w", index.Kind, err)
		}
	}
	return nil
}

type index struct {
	Kind client.Object
	Keys client.IndexerFunc
}

// Indexes are those of all kinds that a pass lists.
func Indexes() []index {
	return []index{
		{&corev1.Pod{}, KeysOf}, {&corev1.PersistentVolumeClaim{}, KeysOf},
		{&policyv1.PodDisruptionBudget{}, keysOfBudget}, {&v1beta2.EtcdRestore{}, keysOfRestore},
	}
}

// keysOfBudget are the UID of the EtcdCluster that owns the budget or ForeignBudgets, and the name of the budget, which is that
// of its EtcdCluster.
func keysOfBudget(object client.Object) []string {
	keys := []string{KeyOfName(object.GetName())}
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "EtcdCluster" {
		return append(keys, KeyOfUID(owner.UID))
	}
	return append(keys, ForeignBudgets)
}

// keysOfRestore are the name of the EtcdCluster that is to be restored, and the claim that the EtcdRestore names.
func keysOfRestore(object client.Object) []string {
	restore, ok := object.(*v1beta2.EtcdRestore)
	if !ok {
		return nil
	}
	keys := []string{KeyOfName(restore.Spec.EtcdCluster.Name)}
	if v := restore.Spec.Volume; v != nil {
		keys = append(keys, KeyOfSource(v.ClaimName))
	}
	return keys
}

// KeysOf an object are found on it: the UID of its controller, the UID that a kept volume is marked with, the name of a
// cluster in its label, and the one in its own name if nothing controls it.
func KeysOf(object client.Object) []string {
	var keys []string
	if _, stripped := object.(*metav1.PartialObjectMetadata); stripped {
		return nil
	}
	if owner := metav1.GetControllerOf(object); owner != nil {
		keys = append(keys, KeyOfUID(owner.UID))
	} else if cut := strings.LastIndexByte(object.GetName(), '-'); cut > 0 {
		keys = append(keys, KeyOfName(object.GetName()[:cut]))
	}
	if uid := object.GetAnnotations()[v1beta2.AnnotationClusterUID]; uid != "" {
		keys = append(keys, KeyOfUID(types.UID(uid)))
	}
	if name := object.GetLabels()[v1beta2.LabelCluster]; name != "" {
		keys = append(keys, KeyOfName(name))
	}
	if name := object.GetLabels()[v1beta2.LabelReplacedOf]; name != "" {
		keys = append(keys, KeyOfReplaced(name))
	}
	return keys
}

// KeyOfUID is the key of the objects of an owner.
func KeyOfUID(uid types.UID) string { return "uid/" + string(uid) }

// KeyOfReplaced is the key of the volumes that were set aside for an EtcdCluster.
func KeyOfReplaced(name string) string { return "replaced/" + name }

// KeyOfSource is the key of the EtcdRestores that restore from a claim.
func KeyOfSource(claim string) string { return "source/" + claim }

// KeyOfName is the key of the objects whose label names an EtcdCluster.
func KeyOfName(name string) string { return "name/" + name }
