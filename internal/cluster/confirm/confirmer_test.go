package confirm

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// confirmerBeside returns a confirmer in a namespace with EtcdCluster example and the given objects, and the first view of the cluster.
func confirmerBeside(t *testing.T, objects ...client.Object) (*Confirmer, *view.View) {
	t.Helper()
	api, v := clustertest.Beside(t, objects...)
	list := &kubecache.Lists{KubeAPI: api}
	return &Confirmer{Lists: list, Rehearsals: &dryrun.Rehearsals{Lists: list}}, v
}
