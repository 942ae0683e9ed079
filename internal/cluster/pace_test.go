package cluster

import (
	"testing"
	"time"
)

// After the loss of a node, every cluster with a member on it waits for that member. If each were looked at twice a second
// for hours, the operator would have no time for the clusters that it can help.
func TestAClusterThatWaitsIsLookedAtLessOften(t *testing.T) {
	for _, c := range []struct {
		name     string
		interval time.Duration
		acted    bool
		waited   time.Duration
		want     time.Duration
		priority int
	}{
		{"it has just begun to wait", 500 * time.Millisecond, false, 0, 500 * time.Millisecond, look},
		{"it has waited for 20 seconds", 500 * time.Millisecond, false, 20 * time.Second, 2 * time.Second, look},
		{"it has waited for an hour", 500 * time.Millisecond, false, time.Hour, slowest, look},
		{"it is as its spec asks", 10 * time.Second, false, time.Hour, 10 * time.Second, look},
		{"it waits for a person", 30 * time.Second, false, time.Hour, 30 * time.Second, look},
		{"the operator has just done something", 100 * time.Millisecond, true, 0, 100 * time.Millisecond, urgent},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := again(c.interval, c.acted, c.waited)
			most := c.want
			if !c.acted {
				most = time.Duration(float64(c.want) * (1 + jitter))
			}
			if got.RequeueAfter < c.want || got.RequeueAfter > most || *got.Priority != c.priority {
				t.Errorf("looks again after %s with priority %d, want %s to %s with %d", got.RequeueAfter, *got.Priority, c.want, most, c.priority)
			}
		})
	}
}

// A cluster that begins to move again is looked at often again.
func TestTheWaitBeginsAnewWithEveryChange(t *testing.T) {
	var known remembered
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	known.waited(true, start)
	if waited := known.waited(false, start.Add(time.Minute)); waited != time.Minute {
		t.Errorf("waited %s", waited)
	}
	if waited := known.waited(true, start.Add(2*time.Minute)); waited != 0 {
		t.Errorf("after a change: waited %s", waited)
	}
}
