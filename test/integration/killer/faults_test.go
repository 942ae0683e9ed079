package killer_test

import (
	"context"

	"github.com/etcd-suite/etcd-operator/test/faults"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// statusNames waits until kubectl etcd status names the cause of a fault in its first line and the remedy in its third.
func (b *bench) statusNames(fault, cause, remedy string) {
	b.Helper()
	kubetest.Eventually(b, "kubectl etcd status names the fault "+fault, func(context.Context) error {
		return b.namesNow(fault, cause, remedy)
	})
}

// namesNow is statusNames without waiting. A test that runs the operator itself asks between two passes.
func (b *bench) namesNow(fault, cause, remedy string) error {
	where := faults.Where{Config: kubetest.Config(b), Namespace: b.cluster.Namespace, Cluster: b.cluster.Name}
	return where.Names(b.Context(), fault, cause, remedy)
}

// reportsFault runs the operator until kubectl etcd status names a fault.
func (b *bench) reportsFault(fault, cause, remedy string) {
	b.Helper()
	b.operate(&killer.Count{}, "report the fault "+fault, func() error { return b.namesNow(fault, cause, remedy) })
}
