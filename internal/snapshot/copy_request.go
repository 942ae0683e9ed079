package snapshot

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// CopyRequest copies the snapshots of one series to a second location. The two series differ in their folders only.
type CopyRequest struct {
	From, To             objstore.Store
	FromSeries, ToSeries Series
	// Policy is that of the second location. Only snapshots that it keeps are copied.
	Policy Policy
	// Signers of the snapshots. If they are given, a snapshot that none of them has signed is not copied.
	Signers Signers
	// Progress is called with the key before each copy, and then with the number of its bytes; may be nil.
	Progress func(key string, size int64) func(int64)
}

// keyOf returns the key in the second location.
func (r CopyRequest) keyOf(key string) string {
	return r.ToSeries.Prefix() + strings.TrimPrefix(key, r.FromSeries.Prefix())
}
