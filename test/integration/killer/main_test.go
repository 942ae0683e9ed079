package killer_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

func TestMain(m *testing.M) {
	podrunner.Init()
	kubetest.Main(m)
}
