package copying

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A piece of work that counts nowhere what it holds of a store takes the memory of all namespaces. In the tests of this package, it panics.
func TestMain(m *testing.M) {
	dbcheck.InThisProcess()
	objstoretest.Counted()
	m.Run()
}
