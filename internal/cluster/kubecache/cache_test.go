package kubecache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
)

func TestTheCacheHoldsOnlyTheNameOfAnUnrelatedPod(t *testing.T) {
	owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "x", Controller: ptr.To(true)}}
	member := clustertest.MemberName(1, 0)
	for name, of := range map[string]struct {
		meta metav1.ObjectMeta
		ours bool
	}{
		"an object of a ReplicaSet":                                {metav1.ObjectMeta{Name: "web-5d4f8-bcdfg", OwnerReferences: owner}, false},
		"an object of a ReplicaSet with the name of a member":      {metav1.ObjectMeta{Name: member, OwnerReferences: owner}, false},
		"a volume of a StatefulSet":                                {metav1.ObjectMeta{Name: "data-web-0"}, false},
		"an object of an EtcdCluster without labels":               {clustertest.Controlled("uid", "any", nil), true},
		"an object with a member's name, without owner and labels": {metav1.ObjectMeta{Name: member}, true},
		"an object with only the label of a cluster":               {metav1.ObjectMeta{Name: "old-0000", Labels: map[string]string{v1beta2.LabelCluster: "old"}}, true},
		"a volume that outlives its cluster":                       {metav1.ObjectMeta{Name: "x", Annotations: map[string]string{v1beta2.AnnotationClusterUID: "uid"}}, true},
		"a volume that a restore has replaced":                     {metav1.ObjectMeta{Name: "x", Labels: map[string]string{v1beta2.LabelReplacedOf: "old"}}, true},
	} {
		of.meta.Namespace = "ns"
		for _, object := range []client.Object{&corev1.Pod{ObjectMeta: of.meta}, &corev1.PersistentVolumeClaim{ObjectMeta: of.meta}} {
			got, err := Strip(object)
			if err != nil {
				t.Fatal(err)
			}
			bare, stripped := got.(*metav1.PartialObjectMetadata)
			if stripped == of.ours {
				t.Errorf("%s: the cache holds %T", name, got)
			}
			if stripped && (bare.Name != of.meta.Name || bare.Namespace != "ns" || len(KeysOf(bare)) > 0) {
				t.Errorf("%s: the cache holds %+v under %v", name, bare, KeysOf(bare))
			}
		}
	}
}

func TestTheCacheHoldsOfForeignServicesAndBudgetsWhatThePassReads(t *testing.T) {
	owner := []metav1.OwnerReference{{Kind: "X", Name: "x", UID: "x", Controller: ptr.To(true)}}
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "example", OwnerReferences: owner, ManagedFields: []metav1.ManagedFieldsEntry{{}}}
	service, err := Strip(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.1"}})
	if s, ok := service.(*corev1.Service); err != nil || !ok || s.Spec.ClusterIP != "" || len(s.OwnerReferences) != 1 || s.ManagedFields != nil {
		t.Errorf("the cache holds %+v, %v", service, err)
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	budget, err := Strip(&policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}, Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1}})
	if b, ok := budget.(*policyv1.PodDisruptionBudget); err != nil || !ok || b.Spec.Selector == nil || b.Status.CurrentHealthy != 0 {
		t.Errorf("the cache holds %+v, %v", budget, err)
	}
}

func TestEveryEtcdClusterBelongsToExactlyOneShard(t *testing.T) {
	for _, label := range []labels.Set{nil, {v1beta2.LabelShard: "a"}, {v1beta2.LabelShard: "b"}} {
		matched := 0
		for _, shard := range []string{"", "a", "b"} {
			selector, err := shardSelector(shard)
			if err != nil {
				t.Fatal(err)
			}
			if selector.Matches(label) {
				matched++
			}
		}
		if matched != 1 {
			t.Errorf("labels %v belong to %d shards", label, matched)
		}
	}
	if _, err := CacheOptions("not a label!"); err == nil {
		t.Error("an invalid shard is accepted")
	}
}
