package e2e

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/stack"
)

// The first thing that a team does with the chart of one cluster: install it, and see that a client can write and read.
func TestTheChartOfOneClusterPassesItsTest(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.helm("upgrade", "--install", "app", "charts/etcd-cluster", "--set", "cluster.spec.size=1")
	n.ready("app")
	n.helm("test", "app", "--timeout", "60s", "--logs")
}

// The first thing that an administrator does with the chart of the operators after they installed it. The test Pods must be admitted, run without a
// shell, and find that all is well.
func TestTheChartOfTheOperatorsPassesItsTest(t *testing.T) {
	t.Parallel()
	n := begin(t)
	output, err := suite.Helm(n.Context(), "test", stack.Release, "--namespace", stack.Namespace, "--timeout", "3m", "--logs")
	if err != nil || strings.Count(output, "Leader: ") != 3 || strings.Contains(output, "failed  ") {
		t.Fatalf("helm test, error %v:\n%s", err, output)
	}
}

func (n *namespaced) helm(args ...string) string {
	n.Helper()
	output, err := suite.Helm(n.Context(), append([]string{"--namespace", n.name}, args...)...)
	if err != nil {
		n.Fatal(err)
	}
	return output
}
