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
