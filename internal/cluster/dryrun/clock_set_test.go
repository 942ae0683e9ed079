package dryrun

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
)

// The operator's clock was set a day ahead between two comparisons. The monotonic clock, which measured the time since the last
// comparison, does not show that. So the operator deleted the only copy of the data.
func TestTheComparisonOfClocksSeesThatTheClockWasSet(t *testing.T) {
	api, v := clustertest.Beside(t)
	clocks := &Times{KubeAPI: api}
	v.Now = time.Now()
	api.Client = clustertest.WithClock(api.Client, v.Now, nil)
	if _, _, err := clocks.ServerTime(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if at := clocks.Memory.OfView(v).at; at != at.Round(0) {
		t.Errorf("the time of the comparison has a reading of the monotonic clock: %v", at)
	}
}
