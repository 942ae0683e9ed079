package pki

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/pki/pkitest"
)

// A Secret of 512 KiB had 1,700 CA certificates. Each archive of a tenant kept them parsed, which took ten times as much memory for as long as the archive ran.
func TestABundleThatTakesMuchMemoryIsNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		count, names int
		used         bool
	}{
		"as many as all public CAs": {150, 4, true},
		"too many certificates":     {201, 1, false},
		"many names in each":        {100, 50, false},
		"many names in one":         {1, 5000, false},
	} {
		bundle, _ := pkitest.CAs(t, c.count, c.names)
		if pool, err := Pool(bundle); (err == nil) != c.used || (pool != nil) != c.used {
			t.Errorf("%s, %d KiB: %v", name, len(bundle)>>10, err)
		}
	}
}
