package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// A variable of the operator's that the API accepts does nothing, or damages the data, and no one is told.
func TestEachVariableIsAcceptedOrRefusedAsTheTableSays(t *testing.T) {
	namespace := kubetest.Namespace(t)
	for _, f := range etcdflags.All() {
		spec := fmt.Sprintf("{size: 3, pod: {etcdEnv: [{name: HOME, value: /}, {name: %s, value: x}]}}", f.Variable())
		t.Run(f.Variable(), func(t *testing.T) {
			err := kubetest.Client(t).Create(t.Context(), object(t, "EtcdCluster", namespace, "", spec), client.DryRunAll)
			switch {
			case f.Refused == nil && err != nil:
				t.Errorf("the variable of users is refused: %v", err)
			case f.Refused != nil:
				wantCause(t, err, "spec.pod.etcdEnv[1]: "+f.Refused.Why+" "+f.Refused.Instead[:len(f.Refused.Instead)-1])
			}
		})
	}
}

// Clusters from before the API refused a setting must stay usable: otherwise no one can grow, scale or pause them.
func TestAStoredSettingThatIsRefusedNowDoesNotKeepOthersFromChanging(t *testing.T) {
	for name, pod := range map[string]string{
		"a configuration file": "{etcdEnv: [{name: ETCD_CONFIG_FILE, value: x}, {name: ETCD_LOG_LEVEL, value: warn}]}",
		"all variables":        everyRefusedVariable(),
		"a data source":        "{persistentVolumeClaimSpec: {dataSource: {kind: PersistentVolumeClaim, name: a}}}",
	} {
		t.Run(name, func(t *testing.T) {
			namespace := kubetest.Namespace(t)
			stored := object(t, "EtcdCluster", namespace, "old", "{size: 3, pod: "+pod+"}")
			if err := kubetest.Client(t).Create(t.Context(), stored.DeepCopy()); err == nil {
				t.Fatal("the server accepts the object")
			}
			kubetest.Store(t, "etcdclusters", stored)
			cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "old"}}
			kubetest.Await(t, cluster, "exist", func(*v1beta2.EtcdCluster) bool { return true })

			before := cluster.DeepCopy()
			cluster.Status.ObservedGeneration = 7
			if err := kubetest.Client(t).Status().Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
				t.Errorf("the operator cannot write the status: %v", err)
			}
			kubetest.MustKubectl(t, "", "scale", "etcd/old", "--replicas=5", "-n", namespace)
			for _, patch := range []string{`{"spec":{"paused":true}}`, `{"spec":{"pod":{"priorityClassName":"high"}}}`, `{"spec":{"pod":null}}`} {
				kubetest.MustKubectl(t, "", "patch", "etcd/old", "-n", namespace, "--type=merge", "--dry-run=server", "-p", patch)
			}
		})
	}
	t.Run("another variable can change beside one that is refused", func(t *testing.T) {
		namespace := kubetest.Namespace(t)
		stored := object(t, "EtcdCluster", namespace, "old", "{size: 3, pod: {etcdEnv: [{name: ETCD_NAME, value: x}, {name: ETCD_LOG_LEVEL, value: warn}]}}")
		kubetest.Store(t, "etcdclusters", stored)
		kubetest.Await(t, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "old"}}, "exist", func(*v1beta2.EtcdCluster) bool { return true })
		kubetest.MustKubectl(t, "", "patch", "etcd/old", "-n", namespace, "--type=json", "-p", `[{"op":"replace","path":"/spec/pod/etcdEnv/1/value","value":"debug"}]`)
	})
}

func everyRefusedVariable() string {
	list := ""
	for _, f := range etcdflags.All() {
		if f.Refused != nil {
			list += fmt.Sprintf("{name: %s, value: x}, ", f.Variable())
		}
	}
	return "{etcdEnv: [" + list + "]}"
}
