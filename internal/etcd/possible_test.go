package etcd

import (
	"math"
	"testing"
)

// A member of a tenant reported a database of -1 TiB, and the spool admitted what did not fit.
func TestAReportedSizeIsOneThatAFileCanHave(t *testing.T) {
	for size, want := range map[int64]int64{0: 0, -1: 0, math.MinInt64: 0, 8 << 30: 8 << 30, math.MaxInt64: mostBytes} {
		if got := possible(size); got != want {
			t.Errorf("%d: %d, want %d", size, got, want)
		}
	}
}
