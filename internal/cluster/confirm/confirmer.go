package confirm

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
)

// Confirmer reads past the cache, before a step, what the step depends on.
type Confirmer struct {
	*kubecache.Lists
	// Shard is the part of the EtcdClusters that this operator manages.
	Shard       string
	Connections *members.Connections
	Rehearsals  *dryrun.Rehearsals
	Times       *dryrun.Times
}
