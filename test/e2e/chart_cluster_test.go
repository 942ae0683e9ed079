package e2e

import (
	"testing"
)

// The first thing that a team does with the chart of one cluster: install it, and see that a client can write and read.
func TestTheChartOfOneClusterPassesItsTest(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.helm("upgrade", "--install", "app", "charts/etcd-cluster", "--set", "cluster.spec.size=1")
	n.ready("app")
	n.helm("test", "app", "--timeout", "60s", "--logs")
}

func (n *namespaced) helm(args ...string) string {
	n.Helper()
	output, err := suite.Helm(n.Context(), append([]string{"--namespace", n.name}, args...)...)
	if err != nil {
		n.Fatal(err)
	}
	return output
}
