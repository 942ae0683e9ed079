// Package oldcrds tests the upgrade from the CustomResourceDefinitions of the archived operator, in a server of its own.
package oldcrds

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }
