package connect

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// SetLimits sets the limits of listings for one test.
func SetLimits(t *testing.T, l objstore.Limits) {
	t.Helper()
	old := limits
	t.Cleanup(func() { limits = old })
	limits = l
}

// NamedEndpoints sets for a test what RequireNamedEndpoints sets, and returns what restores it.
func NamedEndpoints(required bool) (restore func()) {
	before := onlyNamed.Swap(required)
	return func() { onlyNamed.Store(before) }
}
