package act

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/confirm"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// actorBeside returns an actor in a namespace with EtcdCluster example and the given objects, and the first view of the cluster.
func actorBeside(t *testing.T, objects ...client.Object) (*Actor, *view.View) {
	t.Helper()
	api, v := clustertest.Beside(t, objects...)
	return actorOf(api), v
}

// actorOf returns an actor that reaches no member.
func actorOf(api *view.KubeAPI) *Actor {
	list, clocks := &kubecache.Lists{KubeAPI: api}, &dryrun.Times{KubeAPI: api}
	return NewActor(&confirm.Confirmer{Lists: list, Connections: &members.Connections{}, Rehearsals: &dryrun.Rehearsals{Lists: list}, Times: clocks}, nil, &failure.Refusals{}, nil)
}
