package scale

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }
