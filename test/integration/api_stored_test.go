package integration

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// The archived operator's CRD had no schema. When this suite's CRD replaces it, there
// may be objects that the new schema refuses, for example conditions with a space in
// their reason.
func TestObjectsStoredWithoutASchemaStayUsable(t *testing.T) {
	const path = "testdata/coreos/cluster-exported.yaml"
	stored := func(t *testing.T, change func(spec map[string]any)) *v1beta2.EtcdCluster {
		t.Helper()
		namespace := kubetest.Namespace(t)
		manifest := manifests(t, path)[path]
		manifest.SetNamespace(namespace)
		change(manifest.Object["spec"].(map[string]any))
		kubetest.Store(t, "etcdclusters", manifest)
		cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: manifest.GetName()}}
		kubetest.Await(t, cluster, "exist", func(*v1beta2.EtcdCluster) bool { return true })
		return cluster
	}
	unchanged := func(map[string]any) {}

	t.Run("stored objects keep their status", func(t *testing.T) {
		cluster := stored(t, unchanged)
		if cluster.Status.Phase != v1beta2.ClusterPhaseRunning || len(cluster.Status.Members.Ready) != 2 || len(cluster.Status.Conditions) != 2 {
			t.Errorf("the status lost stored fields:\n%s", kubetest.YAML(cluster))
		}
	})
	t.Run("the operator can write the status, and a user can then scale the cluster", func(t *testing.T) {
		cluster := stored(t, unchanged)
		before := cluster.DeepCopy()
		cluster.Status.ObservedGeneration = cluster.Generation
		for _, kind := range []string{v1beta2.ConditionAvailable, v1beta2.ConditionReady} {
			meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionTrue, Reason: v1beta2.ReasonReady, ObservedGeneration: cluster.Generation,
			})
		}
		if err := kubetest.Client(t).Status().Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		kubetest.MustKubectl(t, "", "scale", "etcd/"+cluster.Name, "--replicas=5", "-n", cluster.Namespace)
	})
	t.Run("missing fields get defaults", func(t *testing.T) {
		cluster := stored(t, func(spec map[string]any) { delete(spec, "version") })
		if cluster.Spec.Version != v1beta2.DefaultVersion {
			t.Errorf("version is %q, want %q", cluster.Spec.Version, v1beta2.DefaultVersion)
		}
	})
	t.Run("with an invalid size, the status can be written, and a change of the size is refused", func(t *testing.T) {
		cluster := stored(t, func(spec map[string]any) { spec["size"] = int64(0) })
		before := cluster.DeepCopy()
		cluster.Status = v1beta2.EtcdClusterStatus{ObservedGeneration: cluster.Generation}
		if err := kubetest.Client(t).Status().Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
			t.Error(err)
		}
		cluster.Spec.Size = 9
		wantCause(t, kubetest.Client(t).Update(t.Context(), cluster), wantSize)
	})
}
