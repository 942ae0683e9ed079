package e2e

import (
	"context"

	"github.com/etcd-suite/etcd-operator/test/faults"
)

// statusNames waits until kubectl etcd status names the cause of a fault in its first line, and the remedy in its third. The fault must
// last until then.
func (n *namespaced) statusNames(cluster, fault, cause, remedy string) {
	n.Helper()
	where := faults.Where{Config: suite.Config, Namespace: n.name, Cluster: cluster}
	n.eventually("kubectl etcd status names the fault "+fault, func(ctx context.Context) error {
		return where.Names(ctx, fault, cause, remedy)
	})
}
