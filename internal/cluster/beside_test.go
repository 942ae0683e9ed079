package cluster

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// beside returns a Reconciler in a namespace with EtcdCluster example and the given objects, and its first view.
func beside(t *testing.T, objects ...client.Object) (*Reconciler, *view.View) {
	t.Helper()
	api, v := clustertest.Beside(t, objects...)
	return assemble(parts{Client: api.Client, APIReader: api.APIReader}), v
}
