package killer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestNoClusterIsBornBesideTheMembersOfAnEarlierOne deletes an EtcdCluster with kubectl delete --cascade=orphan, and creates
// another one with its name. Clients must never reach two databases.
func TestNoClusterIsBornBesideTheMembersOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: newer})
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.callAnyMember("kv/put", map[string]any{"key": []byte("key"), "value": []byte("kept")})
	old := b.uids()
	b.orphan()

	b.cluster = &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: b.cluster.Name}, Spec: b.cluster.Spec}
	kubetest.Create(t, b.cluster)
	b.step("the Services of the earlier one are left alone", func(b *bench) {
		b.operate(&killer.Chain{}, "refuse to start", func() error { return b.says(v1beta2.ReasonNotOurs, "Service example") })
		b.statusNames("service-not-ours", "Service example", "delete or rename it")
		b.onlyOld(old)
	})
	b.step("its members stop the birth, too", func(b *bench) {
		for _, name := range []string{b.cluster.Name, b.cluster.Name + "-client"} {
			b.delete(&corev1.Service{}, name)
		}
		b.operate(&killer.Chain{}, "refuse to start", func() error { return b.says(v1beta2.ReasonNotOurs, "clients could reach other data") })
		b.statusNames("members-not-ours", "clients could reach other data", "To start empty, delete the Pods and PersistentVolumeClaims")
		b.onlyOld(old)
	})
	b.step("the cluster is born once they are deleted", func(b *bench) {
		for name := range old {
			b.delete(&corev1.Pod{}, name)
		}
		if err := b.client.DeleteAllOf(b.Context(), &policyv1.PodDisruptionBudget{}, client.InNamespace(b.cluster.Namespace)); err != nil {
			b.Fatal(err)
		}
		b.operate(&killer.Count{}, "form a cluster", b.isReady)
		if held, err := b.traffic.all(b.Context()); err != nil || held["key"] != "" {
			b.Errorf("the new cluster has the data of the old one: %v, error %v", held, err)
		}
	})
}

// orphan deletes the EtcdCluster and keeps what it owns, as the garbage collector does, which does not run here.
func (b *bench) orphan() {
	b.Helper()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}} {
		if err := b.client.List(b.Context(), list, client.InNamespace(b.cluster.Namespace)); err != nil {
			b.Fatal(err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, is := item.(client.Object)
			if !is {
				return nil
			}
			return b.client.Patch(b.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":null}}`)))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := b.client.Delete(b.Context(), b.cluster, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		b.Fatal(err)
	}
	if err := b.client.Patch(b.Context(), b.cluster, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
		b.Fatal(err)
	}
}

// onlyOld fails the test if a Pod was created or deleted.
func (b *bench) onlyOld(old map[string]string) {
	b.Helper()
	now := b.uids()
	for name, uid := range old {
		if now[name] != uid {
			b.Errorf("Pod %s of the earlier cluster was touched", name)
		}
	}
	if len(now) != len(old) {
		b.Errorf("the Pods are %v, expected those of the earlier cluster only: %v", now, old)
	}
}
