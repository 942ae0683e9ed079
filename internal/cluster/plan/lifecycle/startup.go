package lifecycle

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A member reads its whole database when it starts, to compare it with the others, and copies it when it is defragmented.
// It answers nobody meanwhile. The kubelet must not restart it for that, or it would begin again without end.

const (
	// diskSpeed is how many bytes a second the slowest disk reads that a member is expected to have.
	diskSpeed = int64(8) << 20
	// startupSlack and livenessSlack are what a member may take for all else.
	startupSlack  = 5 * time.Minute
	livenessSlack = time.Minute
)

// StartupBudget is how long a member may take from the start of its etcd until it answers.
func StartupBudget(s state.State) time.Duration { return startupSlack + readingTime(s) }

// LivenessBudget is how long a member that has started may not answer, as during a defragmentation.
func LivenessBudget(s state.State) time.Duration { return livenessSlack + readingTime(s) }

// readingTime is how long a slow disk takes to read the largest database that a member may have.
func readingTime(s state.State) time.Duration {
	return time.Duration(largestDatabase(s)/diskSpeed) * time.Second
}

// largestDatabase is what the quota allows, or what members have or had if that is more. Without a quota, or with one that
// the spec takes from another object, it is what a volume holds.
func largestDatabase(s state.State) int64 {
	largest := max(state.QuotaOf(s, state.Member{}), s.KnownDBSize)
	if state.QuotaOf(s, state.Member{}) <= 0 {
		largest = max(largest, roomForData(s))
	}
	if s.Request != nil {
		largest = max(largest, s.Request.Size, s.Request.PlainSize)
	}
	for _, m := range s.Members {
		largest = max(largest, m.DBSize, m.DBQuota)
	}
	return largest
}

// roomForData is how much a member can store: that of a new one, or the size of the largest volume.
func roomForData(s state.State) int64 {
	room := state.RoomOfSpec(s)
	if !s.Durable() {
		return room
	}
	for _, m := range s.Members {
		room = max(room, m.VolumeSize, m.VolumeCapacity)
	}
	return room
}
