package state

import "github.com/etcd-suite/etcd-operator/internal/etcd"

// LargestRecommended is what etcd recommends as the largest quota, and warns beyond.
const LargestRecommended = int64(8) << 30

// RoomOfSpec is how much a new member can store: the size of its volume, or the limit of the emptyDir. Without a limit it is the largest database that
// etcd recommends.
func RoomOfSpec(s State) int64 {
	if s.Durable() {
		request := StorageRequest(s)
		return max(request.Value(), etcd.DefaultQuota)
	}
	if limit := s.Spec.Pod.EmptyDir.SizeLimit; limit != nil && limit.Value() > 0 {
		return max(limit.Value(), etcd.DefaultQuota)
	}
	return LargestRecommended
}

// MostRestored is the most bytes that a seed can restore from a claim of that size. The seed refuses what the volume of its member has no room for, so a large claim with
// a small database is no reason to wait long. It is the room of the member if the size of the claim is not known.
func MostRestored(s State, claim int64) int64 {
	if claim <= 0 {
		return RoomOfSpec(s)
	}
	return min(claim, RoomOfSpec(s))
}
