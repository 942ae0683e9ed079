package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A member reads its whole database when it starts, to compare it with the others, and copies it when it is defragmented.
// It answers nobody meanwhile. The kubelet must not restart it for that, or it would begin again without end.

const (
	// diskSpeed is how many bytes a second the slowest disk reads that a member is expected to have.
	diskSpeed = int64(8) << 20
	// startupSlack and livenessSlack are what a member may take for all else.
	startupSlack  = 5 * time.Minute
	livenessSlack = time.Minute
	// largestRecommended is what etcd recommends as the largest quota, and warns beyond.
	largestRecommended = int64(8) << 30
)

// StartupBudget is how long a member may take from the start of its etcd until it answers.
func (s State) StartupBudget() time.Duration { return startupSlack + s.readingTime() }

// LivenessBudget is how long a member that has started may not answer, as during a defragmentation.
func (s State) LivenessBudget() time.Duration { return livenessSlack + s.readingTime() }

// readingTime is how long a slow disk takes to read the largest database that a member may have.
func (s State) readingTime() time.Duration {
	return time.Duration(s.largestDatabase()/diskSpeed) * time.Second
}

// largestDatabase is what the quota allows, or what members have or had if that is more. Without a quota, or with one that
// the spec takes from another object, it is what a volume holds.
func (s State) largestDatabase() int64 {
	largest := max(s.quotaOf(Member{}), s.KnownDBSize)
	if s.quotaOf(Member{}) <= 0 {
		largest = max(largest, s.roomForData())
	}
	if s.Request != nil {
		largest = max(largest, s.Request.Size, s.Request.PlainSize)
	}
	for _, m := range s.Members {
		largest = max(largest, m.DBSize, m.DBQuota)
	}
	return largest
}

// roomForData is how much a member can store: the size of the largest volume, or the limit of the emptyDir. Without a limit
// it is the largest database that etcd recommends.
func (s State) roomForData() int64 {
	if !s.Durable() {
		if limit := s.Spec.Pod.EmptyDir.SizeLimit; limit != nil && limit.Value() > 0 {
			return max(limit.Value(), etcd.DefaultQuota)
		}
		return largestRecommended
	}
	request := s.StorageRequest()
	room := max(request.Value(), etcd.DefaultQuota)
	for _, m := range s.Members {
		room = max(room, m.VolumeSize, m.VolumeCapacity)
	}
	return room
}
