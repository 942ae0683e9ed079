package observe

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// observerBeside returns an observer in a namespace with EtcdCluster example and the given objects, and the first view of the cluster.
func observerBeside(t *testing.T, objects ...client.Object) (*Observer, *view.View) {
	t.Helper()
	api, v := clustertest.Beside(t, objects...)
	return observerOf(api), v
}

// observerOf returns an observer that reaches no member.
func observerOf(api *view.KubeAPI) *Observer {
	list := &kubecache.Lists{KubeAPI: api}
	return &Observer{Lists: list, Rehearsals: &dryrun.Rehearsals{Lists: list}, Questions: &members.Questions{Connections: &members.Connections{}}}
}
