package secrets

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// secretsBeside reads Secrets in a namespace with EtcdCluster example and the given objects. It also returns the first view of the cluster.
func secretsBeside(t *testing.T, objects ...client.Object) (*Secrets, *view.View) {
	t.Helper()
	api, v := clustertest.Beside(t, objects...)
	return &Secrets{KubeAPI: api}, v
}
