package etcd

import (
	"math"
	"testing"
)

// A server of a tenant announces a size that is negative as an int64. The spool would take it for no size at all, and the store for one part.
func TestTheAnnouncedSizeIsNeverNegative(t *testing.T) {
	for remaining, want := range map[uint64]int64{
		0: 0, 4096: 4096 + 3 + 32, 1 << 40: 1<<40 + 3 + 32,
		math.MaxInt64/2 + 1: 0, math.MaxInt64: 0, math.MaxInt64 + 1: 0, math.MaxUint64: 0,
	} {
		if got := announced(chunk{remaining: remaining, blob: []byte("abc")}); got != want {
			t.Errorf("%d bytes are announced: %d, want %d", remaining, got, want)
		}
	}
}
